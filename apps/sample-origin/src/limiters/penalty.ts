import type { LimitChange } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { TokenBucket } from './token-bucket.ts';

export interface PenaltyOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Everything is refused for this long after a request above the rate. */
  readonly penaltyMs: number;
  /** Each request during the penalty moves its end this much further away. */
  readonly extendMs: number;
  /** The end is never further away than this; at least `penaltyMs`. */
  readonly penaltyMostMs: number;
}

/**
 * A token bucket that punishes: the first request above the rate shuts the host for `penaltyMs`, and each
 * early request adds `extendMs`. The bucket goes on filling meanwhile. A client that fires all its slots when
 * the penalty ends falls straight into the next one.
 */
export class Penalty implements Limiter {
  readonly #options: PenaltyOptions;
  readonly #bucket: TokenBucket;
  #untilMs = 0;

  constructor(options: PenaltyOptions, changes: readonly LimitChange[] = []) {
    this.#options = options;
    this.#bucket = new TokenBucket(options.perSecond, options.burst, changes);
  }

  take(nowMs: number): Verdict {
    if (nowMs < this.#untilMs) {
      this.#untilMs = Math.min(this.#untilMs + this.#options.extendMs, nowMs + this.#options.penaltyMostMs);
      return { kind: 'refused', waitMs: this.#untilMs - nowMs };
    }
    const verdict = this.#bucket.take(nowMs);
    if (verdict.kind === 'allowed') return verdict;
    this.#untilMs = nowMs + this.#options.penaltyMs;
    return { kind: 'refused', waitMs: this.#options.penaltyMs };
  }
}
