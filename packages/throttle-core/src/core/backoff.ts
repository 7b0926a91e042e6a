import type { BackoffPolicy } from './policy.ts';

/**
 * The window our own guess is drawn from after `attempts` dispatches: min(cap, base x 2^(attempts-1)).
 * The cap limits the guess only; a server's wait is compared with it, never cut by it.
 */
export function backoffWindowMs(attempts: number, policy: BackoffPolicy): number {
  const doublings = Math.min(Math.max(attempts - 1, 0), DOUBLINGS_MAX);
  return Math.min(policy.capMs, policy.baseMs * 2 ** doublings);
}

/**
 * The back-off after `attempts` dispatches, whole milliseconds rounded up. `full` jitter spreads over the whole
 * window, `proportional` over 0.5 to 1.5 times the window (and so exceeds its cap by half, by definition).
 *
 * Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015 (full jitter).
 */
export function backoffMs(attempts: number, policy: BackoffPolicy, draw01: number): number {
  const windowMs = backoffWindowMs(attempts, policy);
  switch (policy.kind) {
    case 'full':
      return Math.ceil(draw01 * windowMs);
    case 'proportional':
      return Math.ceil((0.5 + draw01) * windowMs);
  }
}

/** 2^50 ms is 35,000 years: any cap has been reached, and the power stays a finite number. */
const DOUBLINGS_MAX = 50;
