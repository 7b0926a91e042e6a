import type { Policy } from '../core/policy.ts';
import type { ResponseHeaders } from '../core/read-server-wait.ts';

/** One run to be played in virtual time. Everything random comes from `random01`: same numbers, same run. */
export interface Scenario {
  readonly hosts: readonly SimulatedHost[];
  readonly fleet: SimulatedFleet;
  /** Retry tokens of the batch; null: what the first host's policy gives to this many jobs. */
  readonly tokens: number | null;
  /** The run is cut after this much virtual time. */
  readonly untilMs: number;
  readonly random01: () => number;
}

export interface SimulatedHost {
  readonly name: string;
  readonly urls: number;
  readonly policy: Policy;
  readonly origin: SimulatedOrigin;
  /** What the fleet knows of the host from earlier runs; null: nothing. */
  readonly learnedPerSecond: number | null;
}

/** ms: a number is drawn from evenly, up to it; of a list, such as one that was measured, any member is as likely. */
export type Delay = number | readonly number[];

export interface SimulatedFleet {
  readonly workers: number;
  /** URLs that one worker has in hand at a time. */
  readonly concurrency: number;
  /** How late an admission comes after its instant: timers, round trips, a busy machine. */
  readonly lateMs: Delay;
  /** From the admission to the origin: connecting and sending. */
  readonly sendMs: Delay;
  /** What a URL costs its seat beside the exchange: reading, settling, handing over. */
  readonly overheadMs: number;
}

/** A server in virtual time. Instants are ms since the start of the run and never go back. */
export interface SimulatedOrigin {
  answer(arrivedAtMs: number): SimulatedAnswer;
  /** The exchange of this answer is over. */
  ended(answer: SimulatedAnswer): void;
  /** What a client that knew all could get, averaged over a time; null: no rate limits it. */
  limitPerSecond(fromMs: number, toMs: number): number | null;
}

export interface SimulatedAnswer {
  /** 0: the exchange failed, see `fault`. */
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly latencyMs: number;
  /** Error code of a failed exchange. */
  readonly fault: string | null;
  /** The wait that a refusal published; null: none. */
  readonly publishedWaitMs: number | null;
  /** Passed the limiter. */
  readonly letIn: boolean;
}

/** Instant 0 of a run on the wall clock: headers with dates need one. */
export const EPOCH_MS = Date.UTC(2030, 0, 1);
