import type { BatchId, Gate, HostKey, HostRules, JobId, Policy, StopReason } from '@holdoff/throttle-core';
import type { HostSettings, SpendPolicy } from '@holdoff/throttle-core/policy-file';
import type { FieldFault, Listing, ProxyExit, UrlJob } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import type { Admitted } from './ask-gate.ts';
import type { DeliveredPage, EndedUrl } from './deliver-result.ts';
import type { FetchPage, PageExchange } from './fetch-page.ts';
import type { FollowUps } from './handler/enter-follow-ups.ts';
import type { HandlerPool } from './handler/handler-pool.ts';
import type { RobotsBook } from './robots/robots-book.ts';
import type { HopPosition } from './redirect/next-hop.ts';
import type { Unsettled } from './unsettled.ts';

/** One pick-up of a queue job by this worker. */
export interface Delivery {
  readonly job: JobId;
  /** BullMQ's `attemptsStarted`: the fence against older deliveries. */
  readonly number: number;
  readonly data: unknown;
  /** Ends the work at once: lost lock, forced shutdown. */
  readonly signal: AbortSignal;
}

/** What applies to one URL: its policy, its throttling scope and the numbers the gate wants. */
export interface Scope {
  readonly host: HostKey;
  readonly policy: Policy;
  readonly settings: HostSettings;
  /** What bytes and requests cost the operator. */
  readonly prices: SpendPolicy;
  readonly rules: HostRules;
  readonly policyVersion: number;
}

/** Where the attempt sends its next request. */
export interface Target extends HopPosition {
  /** hop: a redirect target of an attempt that is counted already. */
  readonly purpose: 'attempt' | 'hop';
  readonly scope: Scope;
}

interface Refusal {
  readonly reason: StopReason;
  readonly detail: string;
}

/** What an attempt needs from the process around it. */
export interface WorkerParts {
  readonly gate: Gate;
  readonly scopeOf: (url: string) => Scope;
  readonly fetchPage: FetchPage;
  readonly robots: Pick<RobotsBook, 'check' | 'learn' | 'learnRefused' | 'keepClaim' | 'giveUp'>;
  /** The proxy that carries requests for a target. null: none; undefined: the policy names a pool that is not here. */
  readonly exitOf: (attempt: Attempt, target: Target) => ProxyExit | null | undefined;
  readonly workerId: string;
  /** Judges a URL before permission is asked: its form, and an address written in it. null: nothing against it. */
  readonly refuseUrl: (url: string) => Refusal | null;
  /** A header set by its name, null: an empty one; undefined: no such set. */
  readonly headersOf: (headersRef: string | null) => Readonly<Record<string, string>> | undefined;
  /** What tells an origin of our own whom it talks to; empty outside tests. */
  readonly traceHeaders: (attempt: Attempt, admitted: Admitted) => Readonly<Record<string, string>>;
  /** Headers that ask for the page only if it is another one than was delivered before. */
  readonly conditionalHeaders: (
    url: string,
    headersRef: string | null,
  ) => Promise<Readonly<Record<string, string>>>;
  /** Remembers which version of a page was delivered. */
  readonly remember: (url: string, headersRef: string | null, exchange: PageExchange) => Promise<void>;
  /** A payload that no producer of ours wrote: kept aside with the reason, ended, never fetched. */
  readonly refusePayload: (delivery: Delivery, fault: FieldFault) => Promise<Disposition>;
  /** Where the user's code looks into pages; null: nobody does. */
  readonly handler: Pick<HandlerPool, 'run'> | null;
  /** Enters the URLs that a handler named, relative to `finalUrl`; rejects with `DeliveryFault`. */
  readonly enterFollowUps: (
    job: UrlJob,
    finalUrl: string,
    links: readonly string[],
    reads?: Listing,
  ) => Promise<FollowUps>;
  /**
   * Hands a result to every sink that is not in `taken`, and adds those that have it; rejects with `DeliveryFault`.
   * `again`: it may have been handed over before.
   */
  readonly deliver: (
    ended: EndedUrl,
    page: DeliveredPage,
    taken: Set<string>,
    again: boolean,
  ) => Promise<void>;
  /** Keeps a stopped job where operators browse and replay; rejects with `DeliveryFault`. */
  readonly recordStopped: (job: UrlJob, ended: EndedUrl) => Promise<void>;
  /** Promotes the jobs that the gate called. */
  readonly call: (jobs: readonly JobId[]) => void;
  /** A host can be looked at again in this many ms. */
  readonly lookWithin: (delayMs: number) => void;
  readonly events: AttemptEvents;
  /** Answers that the gate has not taken yet. */
  readonly unsettled: Pick<Unsettled, 'during' | 'tell'>;
  readonly random01: () => number;
  /** Monotonic, ms. */
  readonly monotonicMs: () => number;
  readonly sleep: (waitMs: number, signal: AbortSignal) => Promise<void>;
}

/** Typed events that serve logs, metrics and tests alike. */
export interface AttemptEvents {
  attempt(event: AttemptEvent): void;
  /** `gateNowMs`: the gate's clock as it said so. */
  waited(event: { readonly cause: string; readonly inline: boolean; readonly gateNowMs: number }): void;
  ended(event: { readonly outcome: 'done' | 'stopped'; readonly reason: string | null }): void;
  deliveryFault(error: unknown): void;
}

/** One line for each request on the wire. Nothing in it can carry a secret: the URL is reduced before. */
export interface AttemptEvent {
  readonly job: string;
  readonly batch: string;
  readonly host: string;
  readonly url: string;
  readonly attempt: number;
  readonly hop: number;
  readonly probe: boolean;
  readonly outcome: string;
  readonly source: string;
  readonly status: number;
  readonly detail: string;
  readonly bytes: number;
  readonly durationMs: number;
  readonly decision: string;
  readonly reason: string;
  readonly notBeforeMs: number;
  readonly deadlineMs: number;
}

/** The state of one delivery while it is worked on. */
export class Attempt {
  readonly job: UrlJob;
  readonly delivery: Delivery;
  readonly parts: WorkerParts;
  readonly batch: BatchId;
  #calls = 0;

  constructor(job: UrlJob, delivery: Delivery, parts: WorkerParts) {
    this.job = job;
    this.delivery = delivery;
    this.parts = parts;
    this.batch = job.batch as BatchId;
  }

  /** Name of the header set for the job's own origin: the job's, or else the policy's. null: none. */
  get headersRef(): string | null {
    return this.job.headersRef ?? this.parts.scopeOf(this.job.url).settings.headersRef;
  }

  /** A fresh operation id: a command that is sent again after a reconnect carries the same one. */
  nonce(): string {
    this.#calls += 1;
    return `${this.delivery.job}.${this.delivery.number}.${this.#calls}`;
  }
}
