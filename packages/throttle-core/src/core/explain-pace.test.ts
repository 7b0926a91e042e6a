import { expect, test } from 'vitest';
import { whyPaceHolds } from './explain-pace.ts';
import { NEW_PACE, type PaceLimit, type PaceState } from './pace.ts';

const NOW = 1_000_000;
const free: PaceState = { ...NEW_PACE, intervalMs: 100, pressure: 10, phase: 'steady' };
const NONE: PaceLimit = { kind: 'none' };

test.each<[string, Partial<PaceState>, PaceLimit, number, RegExp | null]>([
  ['nothing', {}, NONE, 100, null],
  ['the owner switched it off', {}, { kind: 'off' }, 0, /switched learning off/u],
  ['the owner fixed it', {}, { kind: 'fixed', intervalMs: 50 }, 50, /fixed the pace/u],
  ['bounds alone hold nothing', {}, { kind: 'bounds', floorIntervalMs: 1, ceilingIntervalMs: 1 }, 100, null],
  ['a cooldown', { reopening: 1 }, NONE, 100, /opens with one request/u],
  ['a scout', { reopening: 1, scoutUntilMs: NOW + 1 }, NONE, 100, /not come back/u],
  ['errors', { reopening: 1, strain: 1 }, NONE, 100, /errors of its own/u],
  ['the ramp', { rampFromMs: NOW - 10, rampMs: 20 }, NONE, 300, /ramp/u],
  ['a ramp that is over', { rampFromMs: NOW - 30, rampMs: 20 }, NONE, 100, null],
  ['the brake', { brake: 0.5 }, NONE, 200, /latency/u],
  ['a hint', { hintIntervalMs: 500, hintUntilMs: NOW + 1 }, NONE, 500, /RateLimit/u],
  ['a slower interval', {}, NONE, 3_000, /Crawl-delay/u],
  ['an idle host', { pressure: 0 }, NONE, 100, /not had to wait/u],
])('held back by %s', (_what, state, limit, effectiveMs, expected) => {
  const why = whyPaceHolds({ ...free, ...state }, limit, effectiveMs, NOW);
  expect(why === null ? null : (expected?.test(why) ?? why)).toBe(expected === null ? null : true);
});
