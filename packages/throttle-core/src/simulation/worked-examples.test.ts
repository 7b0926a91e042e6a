import { describe, expect, test } from 'vitest';
import { runFailingBatch } from './failing-batch.ts';
import { climbLadder, obeyHeader } from './ladder.ts';
import { hammerHost, refusedShare, shareHost } from './limited-host.ts';

const HOUR_MS = 3_600_000;

describe('the ladder: exponential back-off against Retry-After 30 that early hits extend to 60', () => {
  test('climbing it costs six refusals and 126 s', () => {
    expect(climbLadder()).toEqual({ refusals: 6, servedAtMs: 126_000 });
  });

  test('obeying the first header costs one wait, whatever the draw', () => {
    for (const draw01 of [0, 0.25, 0.5, 0.75, 1]) {
      const { refusals, servedAtMs } = obeyHeader(draw01);
      expect(refusals).toBe(1);
      expect(servedAtMs).toBeGreaterThanOrEqual(30_000);
      expect(servedAtMs).toBeLessThanOrEqual(38_500);
    }
  });
});

describe('16 workers at a host that gives 2 requests a second', () => {
  test('each retrying every 2 s, three quarters of the requests are refused', () => {
    expect(refusedShare(hammerHost(2, 16, 2000, HOUR_MS))).toBeCloseTo(0.75, 3);
  });

  test.for([2, 1, 5, 10])(
    'sharing pause and pace at %d/s, fewer than one in a hundred are, and the host is used well',
    (perSecond) => {
      const fleet = shareHost(perSecond, HOUR_MS);
      const goodput = fleet.served / (HOUR_MS / 1000) / perSecond;
      expect(refusedShare(fleet), JSON.stringify(fleet)).toBeLessThan(0.01);
      expect(goodput, JSON.stringify(fleet)).toBeGreaterThan(0.85);
    },
  );
});

describe('100 jobs of 3 attempts with 20 tokens at a host that never recovers', () => {
  test('send 120 attempts, and every job ends with a reason', () => {
    expect(runFailingBatch(100, 20)).toEqual({ attempts: 120, ends: { attempts: 10, retry_budget: 90 } });
  });

  test('send no more than jobs and tokens for any numbers', () => {
    for (const [jobs, tokens] of [
      [1, 0],
      [5, 0],
      [7, 3],
      [50, 500],
    ] as const) {
      expect(runFailingBatch(jobs, tokens).attempts).toBeLessThanOrEqual(Math.min(jobs + tokens, jobs * 3));
    }
  });
});
