import { describe, expect, test } from 'vitest';
import { backoffMs, backoffWindowMs } from './backoff.ts';

const full = { kind: 'full', baseMs: 1000, capMs: 60_000 } as const;
const proportional = { ...full, kind: 'proportional' } as const;

describe('the window', () => {
  test('doubles with each attempt until the cap', () => {
    expect([1, 2, 3, 6, 7, 8].map((attempts) => backoffWindowMs(attempts, full))).toEqual([
      1000, 2000, 4000, 32_000, 60_000, 60_000,
    ]);
  });

  test('is the cap for any number of attempts, and never less than that of the first', () => {
    expect(backoffWindowMs(1_000_000, full)).toBe(60_000);
    expect(backoffWindowMs(1_000_000, { ...full, baseMs: 0 })).toBe(0);
    expect(backoffWindowMs(0, full)).toBe(1000);
    expect(backoffWindowMs(-5, full)).toBe(1000);
  });
});

describe('the draw', () => {
  test('full jitter reaches from nothing to the whole window', () => {
    expect([0, 0.5, 1].map((draw) => backoffMs(3, full, draw))).toEqual([0, 2000, 4000]);
  });

  test('proportional jitter reaches from half the window to half more than the window', () => {
    expect([0, 0.5, 1].map((draw) => backoffMs(3, proportional, draw))).toEqual([2000, 4000, 6000]);
  });

  test('parts of a millisecond are rounded up', () => {
    expect(backoffMs(1, full, 0.0001)).toBe(1);
    expect(backoffMs(1, proportional, 0.00001)).toBe(501);
  });
});
