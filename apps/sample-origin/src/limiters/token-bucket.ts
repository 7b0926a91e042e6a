import { factorSum, instantOfSum, type LimitChange } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';

/** Sums of fractions miss a whole token by about this much; without it a request exactly on time is refused. */
const ROUNDING = 1e-9;

/**
 * Holds up to `burst` tokens, gains `perSecond` of them evenly and takes one for each request. A refusal
 * changes nothing: fractions earned so far are kept however often an empty bucket is asked.
 */
export class TokenBucket implements Limiter {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #changes: readonly LimitChange[];
  /** Tokens at `#atMs`, the instant of the last grant. */
  #tokens: number;
  #atMs = 0;

  constructor(perSecond: number, burst: number, changes: readonly LimitChange[] = []) {
    this.#perMs = perSecond / 1000;
    this.#burst = burst;
    this.#changes = changes;
    this.#tokens = burst;
  }

  take(nowMs: number): Verdict {
    const held = this.#heldAt(nowMs);
    if (held + ROUNDING < 1) {
      return { kind: 'refused', waitMs: this.#untilHolds(1, held, nowMs) };
    }
    this.#tokens = Math.max(0, held - 1);
    this.#atMs = nowMs;
    return {
      kind: 'allowed',
      remaining: Math.floor(this.#tokens + ROUNDING),
      resetMs: this.#untilHolds(this.#burst, this.#tokens, nowMs),
    };
  }

  #heldAt(nowMs: number): number {
    const earned = factorSum(this.#changes, this.#atMs, nowMs) * this.#perMs;
    return Math.min(this.#burst, this.#tokens + earned);
  }

  #untilHolds(wanted: number, held: number, nowMs: number): number {
    return instantOfSum(this.#changes, nowMs, (wanted - held) / this.#perMs) - nowMs;
  }
}
