import { factorAt, type LimitChange, scaledCount } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';

/**
 * Allows a request when fewer than `limit` were counted in the `windowMs` before it. A request exactly one
 * window old no longer counts. With `countRejects` a refused request counts too, so a client that keeps
 * knocking never gets in.
 *
 * Only the last `limit` counted instants can matter, so a ring of that size is the whole state.
 */
export class SlidingWindow implements Limiter {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #countRejects: boolean;
  readonly #changes: readonly LimitChange[];
  readonly #ring: Float64Array;
  #counted = 0;

  constructor(limit: number, windowMs: number, countRejects: boolean, changes: readonly LimitChange[] = []) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#countRejects = countRejects;
    this.#changes = changes;
    const most = changes.reduce((size, change) => Math.max(size, scaledCount(limit, change.factor)), limit);
    this.#ring = new Float64Array(most).fill(Number.NEGATIVE_INFINITY);
  }

  take(nowMs: number): Verdict {
    const limit = scaledCount(this.#limit, factorAt(this.#changes, nowMs));
    if (this.#nthLast(limit) + this.#windowMs > nowMs) {
      if (this.#countRejects) this.#count(nowMs);
      return { kind: 'refused', waitMs: this.#nthLast(limit) + this.#windowMs - nowMs };
    }
    this.#count(nowMs);
    return { kind: 'allowed', remaining: this.#remaining(limit, nowMs), resetMs: this.#windowMs };
  }

  #count(nowMs: number): void {
    this.#ring[this.#counted % this.#ring.length] = nowMs;
    this.#counted += 1;
  }

  /** The instant of the n-th most recent counted request; -Infinity: there were fewer. */
  #nthLast(n: number): number {
    if (n > this.#counted) return Number.NEGATIVE_INFINITY;
    return this.#ring[(this.#counted - n) % this.#ring.length] ?? Number.NEGATIVE_INFINITY;
  }

  #remaining(limit: number, nowMs: number): number {
    let low = 0;
    let high = limit;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#nthLast(middle) + this.#windowMs > nowMs) low = middle;
      else high = middle - 1;
    }
    return limit - low;
  }
}
