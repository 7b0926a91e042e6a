/**
 * The pace of one host: the least time between two dispatches of the whole fleet. What is learned lives in
 * `PaceState`; `learn-pace.ts` changes it when results come in, this file says what it means for the next
 * dispatch. Pure: state, rules and the instant go in, a number or the next state comes out.
 *
 * `redis/fragments/pace.lua` is the twin that runs inside the gate's scripts. Both compute with the same
 * operations in the same order, so their doubles are equal to the last bit; change them together.
 */
export interface PaceState {
  /** What the learner holds the host to. 0: nothing learned yet, the start rate applies. */
  readonly intervalMs: number;
  readonly phase: 'slow_start' | 'steady';
  /** The interval in force at the last event: the host gave less than this rate. 0: no event yet. */
  readonly ceilingMs: number;
  /** The interval right after the last decrease: where the climb back to the ceiling began. */
  readonly recoverFromMs: number;
  /** Served results that the pace held back, less those it did not; 0 to `doubleAfterSuccesses`. */
  readonly pressure: number;
  /** Served results since the last event, whether or not the pace held them back. */
  readonly servedSinceEvent: number;
  /** A row of events, each too soon after the last: the interval, the instant and the served results since it began. */
  readonly rowFromMs: number;
  readonly rowAtMs: number;
  readonly rowServed: number;
  /** Mean of results from one event of the row to the next. 0: the row has one event. */
  readonly gapMean: number;
  /** Refusals come once in so many results whatever the pace is. 0: none that are known to. */
  readonly noiseGap: number;
  /** Failures without a wait since the last event, less one for every eight served results. */
  readonly strain: number;
  /** When this step of slow start began. 0: not yet. */
  readonly stepAtMs: number;
  readonly eventAtMs: number;
  /** How long the last event stopped the host, and the mean over the events before it. 0: no event. */
  readonly pauseMs: number;
  readonly pauseMeanMs: number;
  /** The next dispatch may not be earlier. */
  readonly nextAtMs: number;
  /** 1 after a cooldown, until one request (the scout) has come back well. */
  readonly reopening: 0 | 1;
  /** While a scout is out, nobody else goes before this instant. */
  readonly scoutUntilMs: number;
  /** When the host closed, as far as `reopening` is concerned. */
  readonly closedAtMs: number;
  /** When the host was found open again, and how long the ramp is that began then. 0: never closed. */
  readonly rampFromMs: number;
  readonly rampMs: number;
  /** A live RateLimit hint: at most one dispatch per interval until the instant. */
  readonly hintIntervalMs: number;
  readonly hintUntilMs: number;
  /** Mean time to response headers, the level taken as healthy, and how many results they rest on. */
  readonly latencyMs: number;
  readonly latencyBaseMs: number;
  readonly latencySamples: number;
  /** 1: free; below: the pace is multiplied by it because the host slows down under load. */
  readonly brake: number;
  /** While braking: results since it began, the worst mean, the share of the pace that came through at its begin. */
  readonly brakeSamples: number;
  readonly brakeFromMs: number;
  readonly brakeShare: number;
  /** The interval before the brake, to go back to where it was pulled in vain. */
  readonly brakeIntervalMs: number;
}

export const NEW_PACE: PaceState = {
  intervalMs: 0,
  phase: 'slow_start',
  ceilingMs: 0,
  recoverFromMs: 0,
  pressure: 0,
  servedSinceEvent: 0,
  rowFromMs: 0,
  rowAtMs: 0,
  rowServed: 0,
  gapMean: 0,
  noiseGap: 0,
  strain: 0,
  stepAtMs: 0,
  eventAtMs: 0,
  pauseMs: 0,
  pauseMeanMs: 0,
  nextAtMs: 0,
  reopening: 0,
  scoutUntilMs: 0,
  closedAtMs: 0,
  rampFromMs: 0,
  rampMs: 0,
  hintIntervalMs: 0,
  hintUntilMs: 0,
  latencyMs: 0,
  latencyBaseMs: 0,
  latencySamples: 0,
  brake: 1,
  brakeSamples: 0,
  brakeFromMs: 0,
  brakeShare: 1,
  brakeIntervalMs: 0,
};

export interface LearnRules {
  readonly startIntervalMs: number;
  /** Longest interval the learner may reach (the floor of the rate). */
  readonly floorIntervalMs: number;
  /** Shortest interval the learner may reach (the ceiling of the rate). 0: unlimited. */
  readonly ceilingIntervalMs: number;
  readonly doubleAfterSuccesses: number;
  readonly doubleAfterMs: number;
  /** What one event leaves of the rate, above 0 and below 1. */
  readonly decrease: number;
  readonly recoveryLeastMs: number;
  readonly recoveryPauses: number;
  readonly recoveryMostMs: number;
}

/** The gate's `HostRules` fit. */
export interface PaceRules {
  /** Configured interval or robots Crawl-delay, whichever is longer. 0: none. */
  readonly paceIntervalMs: number;
  readonly learn: LearnRules | null;
  readonly ramp: { readonly durationMs: number; readonly startFraction: number } | null;
}

/** What an operator may set on a host by hand; the gate's `PaceOverride`. `reset` is done by storing `NEW_PACE`. */
export type PaceLimit =
  | { readonly kind: 'none' | 'off' | 'reset' }
  | { readonly kind: 'fixed'; readonly intervalMs: number }
  | {
      readonly kind: 'bounds';
      readonly floorIntervalMs: number | null;
      readonly ceilingIntervalMs: number | null;
    };

/** Intervals below one clock tick cannot be kept by a gate that counts whole milliseconds. */
export const SHORTEST_INTERVAL_MS = 1;

/**
 * A dispatch that comes late lends the next one this share of an interval, and never more than `CATCH_UP_MS`:
 * the lateness of timers and round trips would otherwise cost rate for ever. No more, because a host that
 * refuses whatever comes closer than its own interval sees every loan.
 */
const CATCH_UP_SHARE = 0.1;
const CATCH_UP_MS = 20;
/** Of a configured interval or Crawl-delay as long as this nothing is lent: it is meant as a distance, not as a rate. */
const LEAST_DISTANCE_MS = 250;

/** How long the others wait for the first request after a cooldown. A slow page must not stop a host. */
export const SCOUT_MOST_MS = 5_000;

/** The pace a ramp climbs to where the host has none: without it a reopening would let every slot go at once. */
const UNPACED_RAMP_INTERVAL_MS = 100;

/** The rules with the operator's override applied. A robots or configured interval still holds under `fixed`. */
export function limitPace<Rules extends PaceRules>(rules: Rules, limit: PaceLimit): Rules {
  switch (limit.kind) {
    case 'none':
    case 'reset':
      return rules;
    case 'off':
      return { ...rules, learn: null };
    case 'fixed':
      return { ...rules, learn: null, paceIntervalMs: Math.max(rules.paceIntervalMs, limit.intervalMs) };
    case 'bounds':
      return bound(rules, limit.ceilingIntervalMs ?? 0, limit.floorIntervalMs);
  }
}

function bound<Rules extends PaceRules>(rules: Rules, shortestMs: number, longestMs: number | null): Rules {
  const learn = rules.learn;
  if (learn === null) return { ...rules, paceIntervalMs: Math.max(rules.paceIntervalMs, shortestMs) };
  const ceilingIntervalMs = Math.max(learn.ceilingIntervalMs, shortestMs);
  return {
    ...rules,
    learn: { ...learn, ceilingIntervalMs, floorIntervalMs: longestMs ?? learn.floorIntervalMs },
  };
}

/** The learned interval inside its bounds; 0 where nothing is learned. A ceiling wins over a floor. */
export function learnedInterval(intervalMs: number, learn: LearnRules | null): number {
  if (learn === null) return 0;
  const wanted = intervalMs > 0 ? intervalMs : learn.startIntervalMs;
  const shortest = Math.max(SHORTEST_INTERVAL_MS, learn.ceilingIntervalMs);
  return Math.max(shortest, Math.min(wanted, learn.floorIntervalMs));
}

/** Limits that others set: configuration, robots, a live RateLimit hint. 0: none. */
export function givenInterval(state: PaceState, rules: PaceRules, nowMs: number): number {
  return nowMs < state.hintUntilMs
    ? Math.max(rules.paceIntervalMs, state.hintIntervalMs)
    : rules.paceIntervalMs;
}

/** What is left of the ramp; 0 outside. */
export function rampLeftMs(state: PaceState, rules: PaceRules, nowMs: number): number {
  return rules.ramp === null ? 0 : Math.max(0, state.rampFromMs + state.rampMs - nowMs);
}

/** What the next dispatch is held to: learned pace and brake, given limits, ramp. 0: unlimited. */
export function paceInterval(state: PaceState, rules: PaceRules, nowMs: number): number {
  const learnedMs = learnedInterval(state.intervalMs, rules.learn) / state.brake;
  const steadyMs = Math.max(learnedMs, givenInterval(state, rules, nowMs));
  const leftMs = rampLeftMs(state, rules, nowMs);
  if (rules.ramp === null || leftMs === 0) return steadyMs;
  const done = Math.max(0, 1 - leftMs / state.rampMs);
  const fraction = rules.ramp.startFraction + (1 - rules.ramp.startFraction) * done;
  return (steadyMs > 0 ? steadyMs : UNPACED_RAMP_INTERVAL_MS) / fraction;
}

/**
 * The instant at which the pace allows the next dispatch: `nowMs` or earlier means now. While a scout is out it
 * is the scout's limit; its result, which comes through `settlePace`, usually ends that wait sooner.
 */
export function paceOpensAt(state: PaceState, nowMs: number): number {
  const scoutUntilMs = state.reopening === 1 && state.scoutUntilMs > nowMs ? state.scoutUntilMs : 0;
  return Math.ceil(Math.max(state.nextAtMs, scoutUntilMs));
}

export interface PaceCommit {
  readonly state: PaceState;
  /** The pace was what held this dispatch back. Kept with the lease: only such results may raise the pace. */
  readonly bound: boolean;
}

/** Takes the dispatch that `paceOpensAt` allowed: the next one is due one interval later. */
export function commitPace(state: PaceState, rules: PaceRules, nowMs: number): PaceCommit {
  const intervalMs = paceInterval(state, rules, nowMs);
  const lateMs = nowMs - state.nextAtMs;
  const bound = state.nextAtMs > 0 && intervalMs > 0 && lateMs <= Math.max(intervalMs, CATCH_UP_MS);
  const lentMs = bound ? Math.min(intervalMs * CATCH_UP_SHARE, CATCH_UP_MS) : 0;
  const fromMs = Math.max(state.nextAtMs, nowMs - lentMs);
  const scoutUntilMs = state.reopening === 1 ? nowMs + SCOUT_MOST_MS : 0;
  const distanceMs = rules.paceIntervalMs >= LEAST_DISTANCE_MS ? rules.paceIntervalMs : 0;
  const nextAtMs = Math.max(fromMs + intervalMs, nowMs + distanceMs);
  return { state: { ...state, nextAtMs, scoutUntilMs }, bound };
}
