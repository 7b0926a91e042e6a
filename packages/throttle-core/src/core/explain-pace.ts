import type { PaceLimit, PaceState } from './pace.ts';

const RAMP_AFTERGLOW_MS = 5_000;

/**
 * Why the learned rate of a host does not grow just now, for people; null: it may. `effectiveIntervalMs` is what
 * the next dispatch is held to. Ends without a full stop, so that callers can go on.
 */
export function whyPaceHolds(
  state: PaceState,
  limit: PaceLimit,
  effectiveIntervalMs: number,
  nowMs: number,
): string | null {
  if (limit.kind === 'off') return 'its owner has switched learning off';
  if (limit.kind === 'fixed') return 'its owner has fixed the pace';
  if (state.reopening === 1 && state.strain >= 1) {
    return 'it has answered with errors of its own, and is asked by one request at a time until it serves';
  }
  if (state.reopening === 1) {
    return state.scoutUntilMs > nowMs
      ? 'the first request after a pause has not come back yet'
      : 'it is closed, and opens with one request';
  }
  if (state.rampFromMs + state.rampMs > nowMs) return 'it has just reopened, and is on the ramp';
  if (state.brake < 1) return 'its latency has grown with the load';
  if (state.hintUntilMs > nowMs && state.hintIntervalMs > state.intervalMs) {
    return 'its RateLimit header allows no more';
  }
  // The interval in force is kept from the last look, which may have been on the ramp.
  const settled = state.rampFromMs + state.rampMs + RAMP_AFTERGLOW_MS < nowMs;
  if (settled && state.intervalMs > 0 && effectiveIntervalMs > state.intervalMs) {
    return 'a configured interval or Crawl-delay is slower than what was learned';
  }
  return state.pressure === 0 ? 'requests have not had to wait for the pace lately' : null;
}
