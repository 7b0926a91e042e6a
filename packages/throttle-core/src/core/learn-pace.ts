import type { OutcomeClass } from './classify-outcome.ts';
import { brakeOnLatency } from './latency-brake.ts';
import { afterFailure, afterServing } from './failing-host.ts';
import { givenInterval, learnedInterval, rampLeftMs } from './pace.ts';
import type { LearnRules, PaceRules, PaceState } from './pace.ts';
import { weighEvent } from './weigh-event.ts';

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

/** What an event leaves of the rate at least, and all that it leaves at the end of slow start. */
const FAR_OFF_DECREASE = 0.5;
/** An event in the first quarter of the climb, and within two pauses, shows a pace far off. */
const EARLY_SHARE = 0.25;
const EARLY_PAUSES = 2;
const RECOVERY_REQUESTS = 100;
/** An event that names no wait closes the host for a moment all the same: the others follow the scout. */
const LEAST_PAUSE_MS = 1_000;
/** A climb over more than this many ordinary decreases follows a halving. */
const WIDE_SPAN = 1.5;
const WIDE_GAIN = 0.75;
/** 80 % of the way back to the ceiling in 20 % of the recovery time, the rest in the rest. */
const NEAR_SHARE = 0.8;
const FAR_GAIN = 4;
const NEAR_GAIN = 0.25;
/** Above the last ceiling by this much, the host has changed: climb faster, and in proportion to the rate. */
const ABOVE_CEILING = 1.1;
const ABOVE_CEILING_GAIN = 6;

export function settlePace(state: PaceState, rules: PaceRules, result: PaceResult, nowMs: number): PaceState {
  const hinted = takeHint(state, result, nowMs);
  const closed = result.cooldownUntilMs > nowMs ? close(hinted, result.cooldownUntilMs, nowMs) : hinted;
  switch (result.outcome) {
    case 'throttled':
      return throttled(closed, state.reopening === 1, rules.learn, result, nowMs);
    case 'served':
    case 'permanent':
      return served(closed, rules, result, nowMs);
    case 'blocked':
      return result.current ? open(closed, rules, result, nowMs) : closed;
    case 'unavailable':
      return result.current ? afterFailure(closed, rules.learn, nowMs) : closed;
    case 'transport':
    case 'neutral':
      // Says nothing about the pace; the next request may be the scout.
      return result.current ? { ...closed, scoutUntilMs: 0 } : closed;
  }
}

/** After a cooldown the host reopens with one request. */
function close(state: PaceState, cooldownUntilMs: number, nowMs: number): PaceState {
  const nextAtMs = Math.max(state.nextAtMs, cooldownUntilMs);
  return {
    ...state,
    nextAtMs,
    reopening: 1,
    scoutUntilMs: 0,
    closedAtMs: state.reopening === 1 ? state.closedAtMs : nowMs,
  };
}

/** The scout came back well: the others follow through the ramp, which is no longer than the pause was. */
function open(state: PaceState, rules: PaceRules, result: PaceResult, nowMs: number): PaceState {
  if (state.reopening === 0 || result.cooldownUntilMs > nowMs) return state;
  return {
    ...state,
    reopening: 0,
    scoutUntilMs: 0,
    rampFromMs: nowMs,
    rampMs: rules.ramp === null ? 0 : Math.min(rules.ramp.durationMs, nowMs - state.closedAtMs),
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
  const weighed = weighEvent(state, before, nowMs);
  const untilMs = Math.max(result.cooldownUntilMs, weighed.blamed ? nowMs + LEAST_PAUSE_MS : 0);
  const closed = untilMs > result.cooldownUntilMs ? close(weighed.state, untilMs, nowMs) : weighed.state;
  const pauseMs = Math.max(0, untilMs - nowMs);
  const blank = { ...closed, pauseMs, strain: 0, servedSinceEvent: 0, eventAtMs: nowMs };
  if (!weighed.blamed) return blank;
  const early = weighed.state.noiseGap === 0 && isEarly(state, learn, nowMs);
  const after = learnedInterval(1000 / decreased(state, learn, 1000 / before, early, nowMs), learn);
  return {
    ...blank,
    intervalMs: after,
    phase: 'steady',
    ceilingMs: before,
    recoverFromMs: after,
    pressure: 0,
    // The pauses of a pace far too high say nothing about those to come.
    pauseMeanMs: early ? 0 : meanPause(state),
  };
}

function served(state: PaceState, rules: PaceRules, result: PaceResult, nowMs: number): PaceState {
  const learn = rules.learn;
  const braked = learn === null || result.latencyMs <= 0 ? state : feelLatency(state, learn, result);
  if (!result.current) return braked;
  const opened = open(braked, rules, result, nowMs);
  if (learn === null) return opened;
  const next = counted(afterServing(opened), learn, result.bound, nowMs);
  const before = learnedInterval(next.intervalMs, learn);
  const free =
    result.bound &&
    next.brake === 1 &&
    before >= givenInterval(next, rules, nowMs) &&
    rampLeftMs(next, rules, nowMs) === 0;
  if (next.phase === 'slow_start') return free ? double(next, learn, before, nowMs) : next;
  if (!free || next.pressure * 2 < learn.doubleAfterSuccesses) return next;
  return { ...next, intervalMs: learnedInterval(1000 / climb(next, learn, before), learn) };
}

/** A pulled brake is an event without a pause; one that was pulled in vain is taken back. */
function feelLatency(state: PaceState, learn: LearnRules, result: PaceResult): PaceState {
  const before = learnedInterval(state.intervalMs, learn);
  // Little's law: what is in flight over what each takes is what comes through. The mean lags too far behind for it.
  const share = Math.min(1, ((result.inFlight + 1) * before) / Math.max(1, result.latencyMs));
  const { latency, change } = brakeOnLatency(state, result.latencyMs, share);
  const felt = { ...state, ...latency };
  if (change === 'none') return felt;
  if (change === 'in_vain') return { ...felt, intervalMs: state.brakeIntervalMs, brakeIntervalMs: 0 };
  const left =
    state.phase === 'slow_start'
      ? FAR_OFF_DECREASE
      : Math.max(FAR_OFF_DECREASE, Math.min(learn.decrease, share));
  const after = learnedInterval(before / left, learn);
  return {
    ...felt,
    intervalMs: after,
    phase: 'steady',
    ceilingMs: before,
    recoverFromMs: after,
    pressure: 0,
    brakeIntervalMs: before,
  };
}

function counted(state: PaceState, learn: LearnRules, bound: boolean, nowMs: number): PaceState {
  // What was sent before the step began comes back one latency later: it says nothing about this step's rate.
  const ofThisStep = state.phase === 'steady' || nowMs - state.stepAtMs >= state.latencyMs;
  const more = bound
    ? Math.min(learn.doubleAfterSuccesses, state.pressure + 1)
    : Math.max(0, state.pressure - 1);
  return {
    ...state,
    pressure: ofThisStep ? more : state.pressure,
    servedSinceEvent: state.servedSinceEvent + 1,
  };
}

function double(state: PaceState, learn: LearnRules, before: number, nowMs: number): PaceState {
  const stepAtMs = state.stepAtMs === 0 ? nowMs : state.stepAtMs;
  if (
    state.pressure < learn.doubleAfterSuccesses ||
    nowMs - stepAtMs < learn.doubleAfterMs + state.latencyMs
  ) {
    return { ...state, stepAtMs };
  }
  return { ...state, intervalMs: learnedInterval(before / 2, learn), pressure: 0, stepAtMs: nowMs };
}

/**
 * What an event leaves of the rate. Had the pace been near the limit, the climb from the last event would have
 * taken about the recovery time; an event long before that shows a pace far too high, and then what the host
 * really gave since the last event is the better guess. Not trusted below half: a pause that overflows the
 * host's bucket makes it too low.
 */
function decreased(state: PaceState, learn: LearnRules, rate: number, early: boolean, nowMs: number): number {
  if (state.phase === 'slow_start') return rate * FAR_OFF_DECREASE;
  if (!early) return rate * learn.decrease;
  const given = (state.servedSinceEvent * 1000) / Math.max(1, nowMs - state.eventAtMs);
  return Math.max(rate * FAR_OFF_DECREASE, Math.min(rate * learn.decrease, given));
}

function isEarly(state: PaceState, learn: LearnRules, nowMs: number): boolean {
  const activeMs = nowMs - state.eventAtMs - state.pauseMs;
  return activeMs <= state.pauseMs * EARLY_PAUSES && activeMs < recoveryMs(state, learn) * EARLY_SHARE;
}

/** The rate per second one success later: each success that the pace held back stands for one interval of time. */
function climb(state: PaceState, learn: LearnRules, intervalMs: number): number {
  const rate = 1000 / intervalMs;
  const ceiling = 1000 / state.ceilingMs;
  return rate + (gain(state, learn, rate, ceiling) / recoveryMs(state, learn)) * intervalMs;
}

/** Quick while far below the ceiling, slow near it: time is best spent close under the limit. */
function gain(state: PaceState, learn: LearnRules, rate: number, ceiling: number): number {
  const step = (1 - learn.decrease) * ceiling;
  if (rate > ceiling * ABOVE_CEILING) return (1 - learn.decrease) * rate * ABOVE_CEILING_GAIN;
  if (rate >= ceiling) return step;
  const from = 1000 / state.recoverFromMs;
  const span = Math.max(step, ceiling - from);
  // After a halving the limit lies anywhere below the ceiling: no haste, or every second night meets it head on.
  if (span > step * WIDE_SPAN) return span * WIDE_GAIN;
  return rate < from + span * NEAR_SHARE ? span * FAR_GAIN : span * NEAR_GAIN;
}

/**
 * How long the way back to the ceiling takes. At least so long that the pause costs little of it, and that the
 * one 429 it ends with is one among `RECOVERY_REQUESTS`, however slow the host.
 */
function recoveryMs(state: PaceState, learn: LearnRules): number {
  const wantedMs = Math.max(learn.recoveryPauses * meanPause(state), RECOVERY_REQUESTS * state.ceilingMs);
  return Math.max(learn.recoveryLeastMs, Math.min(learn.recoveryMostMs, wantedMs));
}

function meanPause(state: PaceState): number {
  return state.pauseMeanMs === 0 ? state.pauseMs : (state.pauseMeanMs + state.pauseMs) / 2;
}
