import { factorAt, type LimitChange, scaledCount } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';

/** Allows `limit` requests in each window; windows follow each other from the start on, whatever arrives. */
export class FixedWindow implements Limiter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #changes: readonly LimitChange[];
  #window = 0;
  #used = 0;

  constructor(limit: number, windowMs: number, changes: readonly LimitChange[] = []) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#changes = changes;
  }

  take(nowMs: number): Verdict {
    const window = Math.floor(nowMs / this.#windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#used = 0;
    }
    const untilNextMs = (window + 1) * this.#windowMs - nowMs;
    const limit = scaledCount(this.#limit, factorAt(this.#changes, nowMs));
    if (this.#used >= limit) return { kind: 'refused', waitMs: untilNextMs };
    this.#used += 1;
    return { kind: 'allowed', remaining: limit - this.#used, resetMs: untilNextMs };
  }
}
