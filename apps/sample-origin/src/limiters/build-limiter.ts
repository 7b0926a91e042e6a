import type { LimiterDescription } from '../description.ts';
import { Concurrency } from './concurrency.ts';
import { FixedWindow } from './fixed-window.ts';
import { factorSum, type LimitChange } from './limit-schedule.ts';
import type { Limiter, Verdict } from './limiter.ts';
import { Penalty } from './penalty.ts';
import { SlidingWindow } from './sliding-window.ts';
import { TokenBucket } from './token-bucket.ts';

const ALLOWED: Verdict = { kind: 'allowed', remaining: null, resetMs: null };
const UNLIMITED: Limiter = { take: () => ALLOWED };

export function buildLimiter(description: LimiterDescription): Limiter {
  switch (description.kind) {
    case 'none':
      return UNLIMITED;
    case 'token_bucket':
      return new TokenBucket(description.perSecond, description.burst, description.changes);
    case 'fixed_window':
      return new FixedWindow(description.limit, description.windowMs, description.changes);
    case 'sliding_window': {
      const { limit, windowMs, countRejects, changes } = description;
      return new SlidingWindow(limit, windowMs, countRejects, changes);
    }
    case 'concurrency':
      return new Concurrency(description.limit, description.waitMs, description.changes);
    case 'penalty':
      return new Penalty(description, description.changes);
  }
}

/** Requests per second that a client could get for ever, averaged over [fromMs, toMs]; null: no rate limits it. */
export function limitPerSecond(description: LimiterDescription, fromMs: number, toMs: number): number | null {
  const rate = unchangedLimit(description);
  if (rate === null) return null;
  const changes: readonly LimitChange[] = 'changes' in description ? description.changes : [];
  if (toMs <= fromMs) return rate * factorSum(changes, fromMs, fromMs + 1);
  return (rate * factorSum(changes, fromMs, toMs)) / (toMs - fromMs);
}

function unchangedLimit(description: LimiterDescription): number | null {
  switch (description.kind) {
    case 'none':
    case 'concurrency':
      return null;
    case 'token_bucket':
    case 'penalty':
      return description.perSecond;
    case 'fixed_window':
    case 'sliding_window':
      return (description.limit * 1000) / description.windowMs;
  }
}
