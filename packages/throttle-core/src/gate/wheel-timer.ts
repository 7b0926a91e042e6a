import type { JobId } from '../core/identifiers.ts';
import type { Gate, WakeReply } from './gate.ts';

export interface WheelTimerOptions {
  readonly gate: Pick<Gate, 'wake'>;
  /** Promotes queue jobs. Must not throw: a job that is not promoted is called again by the gate. */
  readonly call: (jobs: readonly JobId[]) => Promise<void>;
  /** Ends jobs whose deadline passed while they waited. Must not throw. */
  readonly expire: (jobs: readonly JobId[]) => Promise<void>;
  /** Told once per failed look; the timer goes on by itself. */
  readonly onError: (error: unknown) => void;
  readonly hostsMax: number;
  readonly jobsMax: number;
  /** Looks at least this often, so that a lost hint costs at most this long. */
  readonly idleMs: number;
}

/** How much longer a look in vain makes the rest after it, and how long that may become. */
const REST_STEP_MS = 10;
const REST_MOST_MS = 50;

/**
 * One timer for the earliest host that can be looked at. Any number of processes may run one: `wake` hands
 * each due host to one of them. All know the same instant, so the others look in vain: whoever does rests a little
 * longer each time, and the looks of a fleet do not grow with its processes. A rest is shorter than calls run ahead.
 */
export class WheelTimer {
  readonly #options: WheelTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueInMs = Number.POSITIVE_INFINITY;
  #armedAt = 0;
  #restMs = 0;
  #restUntil = 0;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #stopped = false;

  constructor(options: WheelTimerOptions) {
    this.#options = options;
  }

  start(): void {
    this.lookWithin(0);
  }

  /** A hint that something may be due in `delayMs`; only ever brings the next look forward. */
  lookWithin(delayMs: number): void {
    if (this.#stopped) return;
    const nowMs = performance.now();
    const bounded = Math.min(Math.max(0, delayMs, this.#restUntil - nowMs), this.#options.idleMs);
    const leftMs = this.#armedAt + this.#dueInMs - nowMs;
    if (this.#timer !== undefined && leftMs <= bounded) return;
    clearTimeout(this.#timer);
    this.#armedAt = nowMs;
    this.#dueInMs = bounded;
    this.#timer = setTimeout(() => this.#look(), bounded);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #look(): void {
    this.#timer = undefined;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#once().finally(() => {
      this.#looking = undefined;
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.lookWithin(0);
      }
    });
  }

  async #once(): Promise<void> {
    const { gate, call, expire, hostsMax, jobsMax, idleMs } = this.#options;
    let reply: WakeReply;
    try {
      reply = await gate.wake({ hostsMax, jobsMax });
    } catch (error) {
      this.#options.onError(error);
      this.lookWithin(idleMs);
      return;
    }
    const inVain = reply.call.length === 0 && reply.expired.length === 0;
    this.#restMs = inVain ? Math.min(REST_MOST_MS, this.#restMs + REST_STEP_MS) : 0;
    this.#restUntil = performance.now() + this.#restMs;
    this.lookWithin(reply.nextAtMs === null ? idleMs : reply.nextAtMs - reply.nowMs);
    if (reply.call.length > 0) await call(reply.call);
    if (reply.expired.length > 0) await expire(reply.expired);
  }
}
