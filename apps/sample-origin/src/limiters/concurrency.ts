import { factorAt, type LimitChange, scaledCount } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';

/** Allows `limit` requests in flight, the new one included. When one will end is not known: the wait is a set value. */
export class Concurrency implements Limiter {
  readonly #limit: number;
  readonly #waitMs: number;
  readonly #changes: readonly LimitChange[];

  constructor(limit: number, waitMs: number, changes: readonly LimitChange[] = []) {
    this.#limit = limit;
    this.#waitMs = waitMs;
    this.#changes = changes;
  }

  take(nowMs: number, inFlight: number): Verdict {
    const limit = scaledCount(this.#limit, factorAt(this.#changes, nowMs));
    if (inFlight >= limit) return { kind: 'refused', waitMs: this.#waitMs };
    return { kind: 'allowed', remaining: limit - inFlight - 1, resetMs: null };
  }
}
