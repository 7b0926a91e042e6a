import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { batchTokenTotal, costMicrosOf } from './retry-budget.ts';

describe('the tokens of a batch', () => {
  const share = { kind: 'share', share: 0.2, least: 10 } as const;

  test.for([
    [0, 10],
    [50, 10],
    [51, 11],
    [55, 11],
    [56, 12],
    [35_000, 7000],
  ] as const)('a fifth of %d jobs, at least ten, are %d', ([jobs, tokens]) => {
    expect(batchTokenTotal(share, jobs, null)).toBe(tokens);
  });

  test('the noise of binary fractions makes no token', () => {
    expect(batchTokenTotal({ kind: 'share', share: 0.07, least: 0 }, 100, null)).toBe(7);
    expect(batchTokenTotal({ kind: 'share', share: 0.000001, least: 0 }, 1, null)).toBe(1);
    expect(batchTokenTotal({ kind: 'share', share: 0.1, least: 0 }, 30, null)).toBe(3);
  });

  test('a share in hundredths is exact for any number of jobs', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1000 }), fc.nat({ max: 10 ** 8 }), (percent, jobs) => {
        const policy = { kind: 'share', share: percent / 100, least: 0 } as const;
        const exact = (BigInt(percent) * BigInt(jobs) + 99n) / 100n;
        expect(batchTokenTotal(policy, jobs, null)).toBe(Number(exact));
      }),
    );
  });

  test('a number that the batch names counts, and without one "explicit" gives none', () => {
    expect(batchTokenTotal({ kind: 'explicit' }, 100, 20)).toBe(20);
    expect(batchTokenTotal({ kind: 'explicit' }, 100, null)).toBe(0);
    expect(batchTokenTotal(share, 100, 0)).toBe(0);
  });

  test('a switched-off bucket has no total', () => {
    expect(batchTokenTotal({ kind: 'off' }, 100, null)).toBeNull();
  });
});

describe('the cost of an attempt', () => {
  const prices = { microsPerGigabyte: 3_000_000, microsPerThousandRequests: 500_000 };

  test('bytes and requests are priced and rounded up, so that much use is never free', () => {
    expect(costMicrosOf(prices, { bytes: 1_000_000_000, requests: 0 })).toBe(3_000_000);
    expect(costMicrosOf(prices, { bytes: 1e15, requests: 1e6 })).toBe(3_000_500_000_000);
    expect(costMicrosOf(prices, { bytes: 0, requests: 1 })).toBe(500);
    expect(costMicrosOf(prices, { bytes: 1, requests: 0 })).toBe(1);
    expect(costMicrosOf(prices, { bytes: 500_000, requests: 2 })).toBe(2500);
    expect(
      costMicrosOf({ microsPerGigabyte: 0, microsPerThousandRequests: 0 }, { bytes: 9, requests: 9 }),
    ).toBe(0);
  });
});
