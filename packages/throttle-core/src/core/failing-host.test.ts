import { expect, test } from 'vitest';
import { afterFailure, afterServing, lessonOf } from './failing-host.ts';
import { NEW_PACE, type LearnRules, type PaceState } from './pace.ts';

const START = 1_000_000;
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
const serving: PaceState = { ...NEW_PACE, latencySamples: 10 };
const bare = { outcome: 'unavailable', current: true, cooldownUntilMs: 0 } as const;

/** Lessons of results in order, `x` a bare 503 and `.` a page. */
function lessons(results: string, from = serving): string[] {
  let state = from;
  return results.split('').flatMap((result, n) => {
    if (result === '.') {
      state = afterServing(state);
      return [];
    }
    const lesson = lessonOf(state, bare);
    state = lesson === 'throttled' ? { ...state, strain: 0 } : afterFailure(state, learn, START + n);
    return [lesson];
  });
}

test('a 503 that names a wait teaches at once, whatever the host has done before', () => {
  expect(lessonOf(NEW_PACE, { ...bare, cooldownUntilMs: START })).toBe('throttled');
});

test('three bare failures more than a healthy host shows teach like a 429', () => {
  expect(lessons('xxx')).toEqual(['unavailable', 'unavailable', 'throttled']);
  expect(lessons('x..x..x..x').at(-1)).toBe('throttled');
  expect(lessons('xxxxxx').filter((lesson) => lesson === 'throttled')).toHaveLength(2);
});

test('one broken page in ten teaches nothing', () => {
  expect(lessons('x.........'.repeat(50))).not.toContain('throttled');
});

test('a host that has served nothing but its robots.txt is not slowed down', () => {
  expect(lessons('xxxxxxxxx', { ...NEW_PACE, latencySamples: 1 })).not.toContain('throttled');
});

test('what was sent before the last event, or answered with anything but 5xx, teaches nothing new', () => {
  const strained = { ...serving, strain: 2 };
  expect(lessonOf(strained, { ...bare, current: false })).toBe('unavailable');
  expect(lessonOf(strained, { ...bare, outcome: 'transport' })).toBe('transport');
  expect(lessonOf(strained, bare)).toBe('throttled');
});

test('scouts that fail wait as long again as the host has been closed, a minute at most', () => {
  let state: PaceState = { ...serving, reopening: 1, closedAtMs: START, scoutUntilMs: START + 5_000 };
  let nowMs = START + 1_000;
  const waits = Array.from({ length: 9 }, () => {
    state = afterFailure(state, learn, nowMs);
    const waitMs = Math.max(0, state.nextAtMs - nowMs);
    nowMs += Math.max(100, waitMs);
    return waitMs;
  });
  // The first may have met a broken page: the next goes at once.
  expect(waits).toEqual([0, 1_100, 2_200, 4_400, 8_800, 17_600, 35_200, 60_000, 60_000]);
  expect(state.scoutUntilMs).toBe(0);
});
