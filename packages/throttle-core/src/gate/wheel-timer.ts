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

/**
 * One timer for the earliest host that can be looked at. Any number of processes may run one: `wake` hands
 * each due host to one of them.
 */
export class WheelTimer {
  readonly #options: WheelTimerOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueInMs = Number.POSITIVE_INFINITY;
  #armedAt = 0;
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
    const bounded = Math.min(Math.max(0, delayMs), this.#options.idleMs);
    const leftMs = this.#armedAt + this.#dueInMs - performance.now();
    if (this.#timer !== undefined && leftMs <= bounded) return;
    clearTimeout(this.#timer);
    this.#armedAt = performance.now();
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
    this.lookWithin(reply.nextAtMs === null ? idleMs : reply.nextAtMs - reply.nowMs);
    if (reply.call.length > 0) await call(reply.call);
    if (reply.expired.length > 0) await expire(reply.expired);
  }
}
