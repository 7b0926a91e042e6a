import type { OutcomeClass } from './outcome.ts';
import type { LearnRules, PaceState } from './pace.ts';

/** So many failures more than a healthy host shows are an event. */
const STRAIN_EVENT = 3;
/** A served result takes this much of the strain off: one failure in eight says nothing of the load. */
const RELIEF = 1 / 8;
/** So many served results make a host one that serves; its robots.txt alone does not. */
const SERVED_LEAST = 10;
const FAILED_SCOUT_LEAST_MS = 1_000;
const FAILED_SCOUT_MOST_MS = 60_000;

/**
 * What a result says of the pace. A 503 that names a wait says "less", as a 429 does: many limiters answer with it.
 * Others answer with a bare 503, which a broken page gives too; so do overloaded servers. Three in a short time from
 * a host that has been serving say the same. For the circuit and the retry tokens such an answer remains what it is,
 * a server that cannot serve. `cooldownUntilMs` is the wait of this very result; 0: none.
 */
export function lessonOf(
  pace: PaceState,
  result: { readonly outcome: OutcomeClass; readonly current: boolean; readonly cooldownUntilMs: number },
): OutcomeClass {
  if (result.outcome !== 'unavailable') return result.outcome;
  if (result.cooldownUntilMs > 0) return 'throttled';
  const event = result.current && pace.reopening === 0 && pace.strain + 1 >= STRAIN_EVENT;
  return event ? 'throttled' : 'unavailable';
}

/**
 * A failure counts once the host has served: one that never has would be asked less and less for nothing. Scouts that
 * fail wait as long again as the host has been closed; the first may have met a broken page.
 */
export function afterFailure(state: PaceState, learn: LearnRules | null, nowMs: number): PaceState {
  if (learn === null || state.latencySamples < SERVED_LEAST) return { ...state, scoutUntilMs: 0 };
  const strain = state.strain + 1;
  if (state.reopening === 0 || strain < 2) return { ...state, strain, scoutUntilMs: 0 };
  const closedMs = Math.min(FAILED_SCOUT_MOST_MS, Math.max(FAILED_SCOUT_LEAST_MS, nowMs - state.closedAtMs));
  return { ...state, strain, scoutUntilMs: 0, nextAtMs: Math.max(state.nextAtMs, nowMs + closedMs) };
}

export function afterServing(state: PaceState): PaceState {
  return state.strain === 0 ? state : { ...state, strain: Math.max(0, state.strain - RELIEF) };
}
