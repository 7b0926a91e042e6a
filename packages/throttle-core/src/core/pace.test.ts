import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settlePace } from './learn-pace.ts';
import type { PaceResult } from './learn-pace.ts';
import { NEW_PACE, commitPace, limitPace, paceInterval, paceOpensAt } from './pace.ts';
import type { LearnRules, PaceRules, PaceState } from './pace.ts';

const learn: LearnRules = {
  startIntervalMs: 500,
  floorIntervalMs: 10_000,
  ceilingIntervalMs: 0,
  doubleAfterSuccesses: 10,
  doubleAfterMs: 2_500,
  decrease: 0.9,
  recoveryLeastMs: 120_000,
  recoveryPauses: 20,
  recoveryMostMs: 1_800_000,
};
const rules: PaceRules = { paceIntervalMs: 0, learn, ramp: { durationMs: 10_000, startFraction: 0.25 } };
const ok: PaceResult = {
  outcome: 'served',
  current: true,
  bound: true,
  cooldownUntilMs: 0,
  latencyMs: 0,
  rateLimit: null,
  inFlight: 0,
};
const START = 1_000_000;

/** An endless backlog on a host that serves all: sends as fast as the pace allows. */
function serve(from: PaceState, given: PaceRules, fromMs: number, untilMs: number, latencyMs = 0): PaceState {
  let state = from;
  for (let now = Math.max(fromMs, paceOpensAt(state, fromMs)); now < untilMs; now = paceOpensAt(state, now)) {
    const commit = commitPace(state, given, now);
    const inFlight = Math.floor(latencyMs / paceInterval(commit.state, given, now));
    state = settlePace(commit.state, given, { ...ok, bound: commit.bound, latencyMs, inFlight }, now);
  }
  return state;
}

const rate = (state: PaceState, given = rules, now = START): number => 1000 / paceInterval(state, given, now);
const throttled = (cooldownUntilMs: number): PaceResult => ({ ...ok, outcome: 'throttled', cooldownUntilMs });

describe('slow start', () => {
  test('starts at the start rate and doubles after ten successes and the least time', () => {
    expect(rate(NEW_PACE)).toBe(2);
    const doubledTwice = serve(NEW_PACE, rules, START, START + 8_000);
    expect(1000 / doubledTwice.intervalMs).toBe(8);
  });

  test('the first event halves the rate and ends slow start', () => {
    const fast = serve(NEW_PACE, rules, START, START + 12_000);
    const after = settlePace(fast, rules, throttled(START + 15_000), START + 12_000);
    expect(after.intervalMs).toBe(fast.intervalMs * 2);
    expect(after.phase).toBe('steady');
    expect(after.ceilingMs).toBe(fast.intervalMs);
  });
});

const steady: PaceState = {
  ...NEW_PACE,
  phase: 'steady',
  intervalMs: 100,
  ceilingMs: 90,
  recoverFromMs: 100,
  pressure: 10,
  servedSinceEvent: 50,
  eventAtMs: START - 60_000,
  pauseMs: 2_000,
};

describe('additive increase, multiplicative decrease', () => {
  test('an event after a good stretch leaves 90 % of the rate', () => {
    expect(settlePace(steady, rules, throttled(START + 2_000), START).intervalMs).toBeCloseTo(100 / 0.9, 9);
  });

  test.each([
    { why: 'what the host gave in the whole cycle', served: 140, perSecond: 7 },
    { why: 'no less than half', served: 4, perSecond: 5 },
    { why: 'no more than 90 %', served: 190, perSecond: 9 },
  ])('an event soon after the last pause shows a pace far off: it leaves $why', ({ served, perSecond }) => {
    const early = { ...steady, eventAtMs: START - 20_000, pauseMs: 10_000, servedSinceEvent: served };
    const after = settlePace(early, rules, throttled(START + 2_000), START);
    expect(1000 / after.intervalMs).toBeCloseTo(perSecond, 9);
  });

  test.each([
    { pauseMs: 2_000, recoveryMs: 120_000 },
    { pauseMs: 30_000, recoveryMs: 600_000 },
    { pauseMs: 900_000, recoveryMs: 1_800_000 },
  ])(
    'a rate lost to a pause of $pauseMs ms is reached again after $recoveryMs ms',
    ({ pauseMs, recoveryMs }) => {
      const cut = settlePace(
        { ...steady, pauseMs: 0, servedSinceEvent: 50 },
        { ...rules, ramp: null },
        throttled(START + pauseMs),
        START,
      );
      const reopened = serve(cut, { ...rules, ramp: null }, START + pauseMs, START + pauseMs + recoveryMs);
      expect(1000 / reopened.intervalMs).toBeGreaterThan(9.9);
      expect(1000 / reopened.intervalMs).toBeLessThan(10.05);
    },
  );
});

const outcome = fc.constantFrom(
  'served',
  'throttled',
  'unavailable',
  'transport',
  'blocked',
  'permanent',
  'neutral',
);
const anyResult = fc.record({
  outcome,
  current: fc.boolean(),
  bound: fc.boolean(),
  cooldownUntilMs: fc.constantFrom(0, START + 5_000, START + 90_000),
  latencyMs: fc.integer({ min: 0, max: 2_000 }),
  rateLimit: fc.option(
    fc.record({
      remaining: fc.integer({ min: 0, max: 50 }),
      untilMs: fc.integer({ min: START, max: START + 60_000 }),
    }),
  ),
  inFlight: fc.integer({ min: 0, max: 5 }),
}) as fc.Arbitrary<PaceResult>;
const anyHistory = fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), anyResult), {
  maxLength: 60,
  size: 'max',
});

function replay(
  history: readonly [number, PaceResult][],
  given: PaceRules,
): { state: PaceState; now: number } {
  let state = NEW_PACE;
  let now = START;
  for (const [tick, result] of history) {
    now += tick;
    if (paceOpensAt(state, now) <= now) state = commitPace(state, given, now).state;
    state = settlePace(state, given, result, now);
  }
  return { state, now };
}

describe('limits that others set', () => {
  const learned = { ...steady, pressure: 0 };

  test.each([
    { limit: { kind: 'none' } as const, intervalMs: 100 },
    { limit: { kind: 'off' } as const, intervalMs: 0 },
    { limit: { kind: 'fixed', intervalMs: 40 } as const, intervalMs: 40 },
    { limit: { kind: 'fixed', intervalMs: 4_000 } as const, intervalMs: 4_000 },
    { limit: { kind: 'bounds', floorIntervalMs: null, ceilingIntervalMs: 250 } as const, intervalMs: 250 },
    { limit: { kind: 'bounds', floorIntervalMs: 50, ceilingIntervalMs: null } as const, intervalMs: 50 },
  ])("an operator's $limit.kind makes it $intervalMs ms", ({ limit, intervalMs }) => {
    expect(paceInterval(learned, limitPace(rules, limit), START)).toBe(intervalMs);
  });

  test('of a configured or robots interval nothing is lent, of a configured rate a little', () => {
    const after = (paceIntervalMs: number): number =>
      commitPace({ ...NEW_PACE, nextAtMs: START - 15 }, { ...rules, learn: null, paceIntervalMs }, START)
        .state.nextAtMs - START;
    expect(after(1_000)).toBe(1_000);
    expect(after(250)).toBe(250);
    expect(after(200)).toBe(185);
  });

  test('a configured or robots interval holds under every override', () => {
    const robots = { ...rules, paceIntervalMs: 3_000 };
    const limit = { kind: 'fixed', intervalMs: 10 } as const;
    expect(paceInterval(learned, robots, START)).toBe(3_000);
    expect(paceInterval(learned, limitPace(robots, limit), START)).toBe(3_000);
    expect(paceInterval(learned, limitPace(robots, { kind: 'off' }), START)).toBe(3_000);
  });

  test('the learned rate does not climb while a slower limit is what holds requests back', () => {
    const robots = { ...rules, paceIntervalMs: 3_000 };
    expect(serve(steady, robots, START, START + 600_000).intervalMs).toBe(100);
  });

  test('a RateLimit hint caps the pace while it lives, less what is in flight', () => {
    const hint = { remaining: 12, untilMs: START + 10_000 };
    const hinted = settlePace(learned, rules, { ...ok, bound: false, rateLimit: hint, inFlight: 2 }, START);
    expect(paceInterval(hinted, rules, START)).toBe(1_000);
    expect(paceInterval(hinted, rules, START + 10_000)).toBe(100);
  });

  test('with nothing remaining there is no request before the reset', () => {
    const rateLimit = { remaining: 0, untilMs: START + 10_000 };
    expect(paceOpensAt(settlePace(learned, rules, { ...ok, rateLimit }, START), START)).toBe(START + 10_000);
  });
});

describe('reopening', () => {
  const closed = settlePace(steady, rules, throttled(START + 2_000), START);
  const scouting = commitPace(closed, rules, START + 2_000).state;

  test('one request goes first, and the others wait for it, but not for ever', () => {
    expect(paceOpensAt(scouting, START + 2_400)).toBe(START + 7_000);
    expect(paceOpensAt(scouting, START + 7_000)).toBeLessThanOrEqual(START + 7_000);
  });

  test.each([
    { pauseMs: 2_000, rampMs: 2_300 },
    { pauseMs: 60_000, rampMs: 10_000 },
  ])(
    'after a pause of $pauseMs ms the rate climbs from a quarter to the whole within $rampMs ms',
    ({ pauseMs, rampMs }) => {
      const reopenMs = START + pauseMs;
      const shut = settlePace(steady, rules, throttled(reopenMs), START);
      const reopened = settlePace(commitPace(shut, rules, reopenMs).state, rules, ok, reopenMs + 300);
      const intervalAt = (afterMs: number): number => paceInterval(reopened, rules, reopenMs + 300 + afterMs);
      expect(intervalAt(rampMs)).toBe(reopened.intervalMs);
      expect(intervalAt(0)).toBeCloseTo(reopened.intervalMs * 4, 9);
      expect(intervalAt(rampMs / 2)).toBeCloseTo(reopened.intervalMs / 0.625, 9);
    },
  );

  test('when it is refused the pause is longer, the rate the same: the pace was not tested', () => {
    const refused = settlePace(scouting, rules, throttled(START + 9_000), START + 2_300);
    expect(refused.intervalMs).toBe(closed.intervalMs);
    expect(refused.pauseMs).toBe(9_000);
    expect(paceOpensAt(refused, START + 2_300)).toBe(START + 9_000);
  });

  test('when it fails for another reason the next one may go first', () => {
    const failed = settlePace(scouting, rules, { ...ok, outcome: 'transport' }, START + 2_300);
    expect(failed.reopening).toBe(1);
    expect(paceOpensAt(failed, START + 3_000)).toBeLessThanOrEqual(START + 3_000);
  });
});

describe('latency brake', () => {
  test('slows a host whose latency has grown far above its own level, and lets go when it recovers', () => {
    const healthy = serve(steady, rules, START, START + 10_000, 100);
    expect(healthy.brake).toBe(1);
    const loaded = serve(healthy, rules, START + 10_000, START + 15_000, 900);
    expect(loaded.brake).toBeLessThan(0.5);
    expect(serve(loaded, rules, START + 15_000, START + 40_000, 100).brake).toBe(1);
  });

  test('takes a slower level as healthy when braking does not help, and gives the pace back', () => {
    const healthy = serve(steady, rules, START, START + 10_000, 100);
    const braking = serve(healthy, rules, START + 10_000, START + 20_000, 900);
    expect(braking.brake).toBeLessThan(1);
    expect(braking.intervalMs).toBeGreaterThan(healthy.intervalMs);
    const slower = serve(braking, rules, START + 20_000, START + 60_000, 900);
    expect(slower.brake).toBe(1);
    expect(slower.latencyBaseMs).toBeGreaterThan(700);
    expect(slower.intervalMs).toBeLessThanOrEqual(healthy.intervalMs);
  });

  test('pulled in slow start it ends slow start', () => {
    const young = serve(NEW_PACE, rules, START, START + 11_000, 100);
    const braked = serve(young, rules, START + 11_000, START + 13_000, 900);
    expect(braked).toMatchObject({
      phase: 'steady',
      ceilingMs: young.intervalMs,
      intervalMs: young.intervalMs * 2,
    });
  });
});

describe('whatever has happened', () => {
  test('L1: the 429s in flight at an event cause one decrease, later ones only lengthen the pause', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 1, max: 20 }), (history, k) => {
        const { state, now } = replay(history, rules);
        const first = settlePace(state, rules, throttled(now + 1_000), now);
        let last = first;
        for (let i = 0; i < k; i += 1) {
          last = settlePace(last, rules, { ...throttled(now + 1_000 + i), current: false }, now + i);
        }
        expect(last.intervalMs).toBe(first.intervalMs);
        expect(last.nextAtMs).toBeGreaterThanOrEqual(now + 1_000 + k - 1);
      }),
    );
  });

  test('L2: after a throttle nothing may go before the cooldown is over', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 1, max: 100_000 }), (history, waitMs) => {
        const { state, now } = replay(history, rules);
        const after = settlePace(state, rules, throttled(now + waitMs), now);
        expect(paceOpensAt(after, now)).toBeGreaterThanOrEqual(now + waitMs);
      }),
    );
  });

  test('L3: the learned interval stays inside its bounds', () => {
    const bounded = { ...rules, learn: { ...learn, ceilingIntervalMs: 125, floorIntervalMs: 2_000 } };
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { state, now } = replay(history, bounded);
        expect(state.intervalMs === 0 || state.intervalMs >= 125).toBe(true);
        expect(state.intervalMs).toBeLessThanOrEqual(2_000);
        expect(paceInterval(state, bounded, now)).toBeGreaterThanOrEqual(125);
      }),
    );
  });

  test('L4: a success of an older epoch never raises the rate', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const { state, now } = replay(history, rules);
        const after = settlePace(state, rules, { ...ok, current: false }, now + 100_000);
        expect(after.intervalMs).toBe(state.intervalMs);
        expect(after.reopening).toBe(state.reopening);
      }),
    );
  });

  test('L5: neither idle time nor results the pace did not hold back raise the rate', () => {
    fc.assert(
      fc.property(
        anyHistory,
        fc.array(fc.integer({ min: 0, max: 1e8 }), { maxLength: 40 }),
        (history, gaps) => {
          const { state, now } = replay(history, rules);
          let idle = state;
          let at = now;
          for (const gap of gaps) {
            at += gap;
            idle = settlePace(idle, rules, { ...ok, bound: false }, at);
          }
          expect(idle.intervalMs).toBe(state.intervalMs);
        },
      ),
    );
  });

  test('L7, L8: the same events give the same state, also through storage', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const once = replay(history, rules).state;
        expect(replay(history, rules).state).toEqual(once);
        expect(JSON.parse(JSON.stringify(once))).toEqual(once);
      }),
    );
  });
});

describe('where nothing is learned', () => {
  const plain: PaceRules = { paceIntervalMs: 0, learn: null, ramp: rules.ramp };

  test('a refusal closes the host and leaves no pace behind', () => {
    const after = settlePace(NEW_PACE, plain, throttled(START + 3_000), START);
    expect(after).toMatchObject({ eventAtMs: START, intervalMs: 0, nextAtMs: START + 3_000, reopening: 1 });
    const reopened = settlePace(after, plain, ok, START + 3_000);
    expect(reopened).toMatchObject({ reopening: 0, rampMs: 3_000, intervalMs: 0, pressure: 0 });
  });

  test('the ramp climbs to ten a second, and then there is no pace', () => {
    const ramping: PaceState = { ...NEW_PACE, rampFromMs: START, rampMs: 10_000 };
    expect(paceInterval(ramping, plain, START)).toBe(400);
    expect(paceInterval(ramping, plain, START + 5_000)).toBe(160);
    expect(paceInterval(ramping, plain, START + 10_000)).toBe(0);
  });

  test('a ceiling of the operator holds as a configured pace, and undercuts none', () => {
    const ceiling = { kind: 'bounds', floorIntervalMs: null, ceilingIntervalMs: 400 } as const;
    expect(limitPace(plain, ceiling).paceIntervalMs).toBe(400);
    expect(limitPace({ ...plain, paceIntervalMs: 1_000 }, ceiling).paceIntervalMs).toBe(1_000);
    expect(limitPace(plain, { ...ceiling, ceilingIntervalMs: null })).toEqual(plain);
  });
});

test.each([
  ['far above the last ceiling, where the host has changed', 8, 5, 6],
  ['above the last ceiling', 9.5, 5, 0.95],
  ['far below a ceiling that was close', 10.5, 9.45, 4.2],
  ['near a ceiling that was close', 10.1, 9.09, 0.2525],
  ['below a ceiling that lies far above', 20, 10, 7.5],
])(
  '%s a steady pace of 10/s climbs at its own slope',
  (_, ceilingPerSecond, fromPerSecond, gainPerRecovery) => {
    const steady: PaceState = {
      ...NEW_PACE,
      phase: 'steady',
      intervalMs: 100,
      ceilingMs: 1_000 / ceilingPerSecond,
      recoverFromMs: 1_000 / fromPerSecond,
      eventAtMs: START - 60_000,
      pressure: 10,
    };
    const after = settlePace(steady, rules, ok, START);
    expect(((1_000 / after.intervalMs - 10) / 100) * 120_000).toBeCloseTo(gainPerRecovery, 6);
  },
);

test('a refusal that the pace is not to blame for changes no pace, and pauses only as long as it says', () => {
  const used: PaceState = {
    ...NEW_PACE,
    phase: 'steady',
    intervalMs: 100,
    eventAtMs: START - 60_000,
    servedSinceEvent: 9,
    noiseGap: 10,
    gapMean: 10,
  };
  const own = settlePace(used, rules, throttled(0), START);
  expect(own).toMatchObject({
    intervalMs: 100,
    reopening: 0,
    nextAtMs: 0,
    servedSinceEvent: 0,
    eventAtMs: START,
  });
  // Without a history of such refusals the same answer is a lesson.
  const blamed = settlePace({ ...used, noiseGap: 0, servedSinceEvent: 500 }, rules, throttled(0), START);
  expect(blamed.intervalMs).toBeGreaterThan(100);
  expect(blamed.reopening).toBe(1);
});

test('pages that are served after an event are counted, each once', () => {
  const first = settlePace(
    { ...NEW_PACE, phase: 'steady', intervalMs: 100, ceilingMs: 100 },
    rules,
    ok,
    START,
  );
  expect(first.servedSinceEvent).toBe(1);
  expect(settlePace(first, rules, ok, START + 100).servedSinceEvent).toBe(2);
});
