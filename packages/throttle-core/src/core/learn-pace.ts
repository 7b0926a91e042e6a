import type { OutcomeClass } from './classify-outcome.ts';
import { brakeOnLatency } from './latency-brake.ts';
import { givenInterval, learnedInterval, rampLeftMs } from './pace.ts';
import type { LearnRules, PaceRules, PaceState } from './pace.ts';

/** One result, as the learner sees it. */
export interface PaceResult {
  readonly outcome: OutcomeClass;
  /**
   * The request was admitted in the host's present epoch. A throttle then is a new event (and the caller starts
   * a new epoch); a success of an older epoch says nothing about the pace now in force.
   */
  readonly current: boolean;
  /** `PaceCommit.bound` of its admission. */
  readonly bound: boolean;
  /** The host's cooldown with this result applied. 0: none. */
  readonly cooldownUntilMs: number;
  /** Time to response headers. 0: unknown. */
  readonly latencyMs: number;
  readonly rateLimit: { readonly remaining: number; readonly untilMs: number } | null;
  /** Other live requests to the host: what a RateLimit hint may not have counted yet. */
  readonly inFlight: number;
}

/** While slow start runs, and while events follow each other within few successes, the pace is far off. */
const FAR_OFF_DECREASE = 0.5;
/** Above the last ceiling by this much, the host has changed: climb faster. */
const ABOVE_CEILING = 1.1;
const ABOVE_CEILING_GAIN = 4;

export function settlePace(state: PaceState, rules: PaceRules, result: PaceResult, nowMs: number): PaceState {
  const hinted = takeHint(state, result, nowMs);
  const closed = result.cooldownUntilMs > nowMs ? close(hinted, result.cooldownUntilMs) : hinted;
  switch (result.outcome) {
    case 'throttled':
      return throttled(closed, state.reopening === 1, rules.learn, result, nowMs);
    case 'served':
    case 'permanent':
      return served(closed, rules, result, nowMs);
    case 'blocked':
      return result.current ? open(closed, result, nowMs) : closed;
    case 'unavailable':
    case 'transport':
    case 'neutral':
      // Says nothing about the pace; the next request may be the scout.
      return result.current ? { ...closed, scoutUntilMs: 0 } : closed;
    default:
      return result.outcome satisfies never;
  }
}

/** After a cooldown the host reopens with one request. */
function close(state: PaceState, cooldownUntilMs: number): PaceState {
  return { ...state, nextAtMs: Math.max(state.nextAtMs, cooldownUntilMs), reopening: 1, scoutUntilMs: 0 };
}

/** The scout came back well: the others follow through the ramp. */
function open(state: PaceState, result: PaceResult, nowMs: number): PaceState {
  if (state.reopening === 0 || result.cooldownUntilMs > nowMs) return state;
  return {
    ...state,
    reopening: 0,
    scoutUntilMs: 0,
    rampFromMs: nowMs,
    nextAtMs: Math.max(state.nextAtMs, nowMs),
  };
}

function takeHint(state: PaceState, result: PaceResult, nowMs: number): PaceState {
  const hint = result.rateLimit;
  if (hint === null || hint.untilMs <= nowMs) return state;
  if (hint.remaining <= 0) return { ...state, nextAtMs: Math.max(state.nextAtMs, hint.untilMs) };
  const remaining = Math.max(1, hint.remaining - result.inFlight);
  return { ...state, hintIntervalMs: (hint.untilMs - nowMs) / remaining, hintUntilMs: hint.untilMs };
}

function throttled(
  state: PaceState,
  scouting: boolean,
  learn: LearnRules | null,
  result: PaceResult,
  nowMs: number,
): PaceState {
  // All 429s of one epoch are one event. A refused scout says "not yet": the pause was short, not the pace fast.
  if (!result.current || scouting) {
    const pauseMs = Math.max(state.pauseMs, result.cooldownUntilMs - state.eventAtMs);
    return state.eventAtMs === 0 ? state : { ...state, pauseMs };
  }
  const before = learnedInterval(state.intervalMs, learn);
  if (learn === null || before === 0) return { ...state, eventAtMs: nowMs };
  const farOff = state.phase === 'slow_start' || state.servedSinceEvent < learn.doubleAfterSuccesses;
  const after = learnedInterval(before / (farOff ? FAR_OFF_DECREASE : learn.decrease), learn);
  return {
    ...state,
    intervalMs: after,
    phase: 'steady',
    ceilingMs: before,
    recoverFromMs: after,
    pressure: 0,
    servedSinceEvent: 0,
    eventAtMs: nowMs,
    pauseMeanMs: meanPause(state),
    pauseMs: Math.max(0, result.cooldownUntilMs - nowMs),
  };
}

function served(state: PaceState, rules: PaceRules, result: PaceResult, nowMs: number): PaceState {
  const learn = rules.learn;
  const braked =
    learn === null || result.latencyMs <= 0
      ? state
      : { ...state, ...brakeOnLatency(state, result.latencyMs) };
  if (!result.current) return braked;
  const opened = open(braked, result, nowMs);
  if (learn === null) return opened;
  const pressure = result.bound
    ? Math.min(learn.doubleAfterSuccesses, opened.pressure + 1)
    : Math.max(0, opened.pressure - 1);
  const next = { ...opened, pressure, servedSinceEvent: opened.servedSinceEvent + 1 };
  const before = learnedInterval(next.intervalMs, learn);
  const free =
    result.bound &&
    next.brake === 1 &&
    before >= givenInterval(next, rules, nowMs) &&
    rampLeftMs(next, rules, nowMs) === 0;
  if (next.phase === 'slow_start') return free ? double(next, learn, before, nowMs) : next;
  if (!free || pressure * 2 < learn.doubleAfterSuccesses) return next;
  return { ...next, intervalMs: learnedInterval(1000 / climb(next, learn, before), learn) };
}

function double(state: PaceState, learn: LearnRules, before: number, nowMs: number): PaceState {
  const stepAtMs = state.stepAtMs === 0 ? nowMs : state.stepAtMs;
  if (state.pressure < learn.doubleAfterSuccesses || nowMs - stepAtMs < learn.doubleAfterMs) {
    return { ...state, stepAtMs };
  }
  return { ...state, intervalMs: learnedInterval(before / 2, learn), pressure: 0, stepAtMs: nowMs };
}

/** The rate per second one success later: each success that the pace held back stands for one interval of time. */
function climb(state: PaceState, learn: LearnRules, intervalMs: number): number {
  const recoveryMs = Math.max(
    learn.recoveryLeastMs,
    Math.min(learn.recoveryMostMs, learn.recoveryPauses * meanPause(state)),
  );
  const rate = 1000 / intervalMs;
  const ceiling = 1000 / state.ceilingMs;
  const gain =
    rate > ceiling * ABOVE_CEILING
      ? (1 - learn.decrease) * ceiling * ABOVE_CEILING_GAIN
      : Math.max((1 - learn.decrease) * ceiling, ceiling - 1000 / state.recoverFromMs);
  return rate + (gain / recoveryMs) * intervalMs;
}

function meanPause(state: PaceState): number {
  return state.pauseMeanMs === 0 ? state.pauseMs : (state.pauseMeanMs + state.pauseMs) / 2;
}
