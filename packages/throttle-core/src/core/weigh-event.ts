import type { PaceState } from './pace.ts';

/** Fewer results between two events than a climb to a limit takes. */
const SOON_GAP = 75;
/** What a row of events must have left of the pace before it can have been in vain. */
const IN_VAIN_DECREASE = 0.5;
const GAP_SMOOTHING = 1 / 4;
/** Refusals that leave so little between them are denser than the host's own. */
const DENSER_SHARE = 0.6;
/** So many gaps without a refusal, and one of a climb, and the host refuses no more by itself. */
const NOISE_OVER = 4;

/**
 * Is the pace to blame? A host with a limit never gives more than its limit, pauses included, and refuses nothing
 * below it. One that refuses now and then whatever the pace is does: cutting for each such refusal would end at the
 * floor. So when a row of events has cut the pace to half, and below what the host gave all the while, and still it
 * refuses, the refusals are its own; from then on the pace is only blamed when they get denser.
 */
export function weighEvent(
  state: PaceState,
  intervalMs: number,
  nowMs: number,
): { readonly state: PaceState; readonly blamed: boolean } {
  const gap = state.servedSinceEvent + 1;
  const gapMean = state.gapMean === 0 ? gap : state.gapMean + (gap - state.gapMean) * GAP_SMOOTHING;
  if (state.noiseGap > 0) {
    if (gap > state.noiseGap * NOISE_OVER + SOON_GAP) {
      return { state: beginRow({ ...state, noiseGap: 0 }, intervalMs, nowMs), blamed: true };
    }
    if (gapMean >= state.noiseGap * DENSER_SHARE) return { state: { ...state, gapMean }, blamed: false };
    return { state: { ...state, gapMean: state.noiseGap }, blamed: true };
  }
  if (state.rowFromMs === 0 || gap >= SOON_GAP) {
    return { state: beginRow(state, intervalMs, nowMs), blamed: true };
  }
  const row = { ...state, gapMean, rowServed: state.rowServed + state.servedSinceEvent };
  const given = (row.rowServed * 1000) / Math.max(1, nowMs - state.rowAtMs);
  const inVain = intervalMs * IN_VAIN_DECREASE >= state.rowFromMs && 1000 / intervalMs <= given;
  if (!inVain) return { state: row, blamed: true };
  return {
    state: { ...row, noiseGap: gapMean, phase: 'slow_start', pressure: 0, stepAtMs: nowMs },
    blamed: false,
  };
}

function beginRow(state: PaceState, intervalMs: number, nowMs: number): PaceState {
  return { ...state, rowFromMs: intervalMs, rowAtMs: nowMs, rowServed: 0, gapMean: 0 };
}
