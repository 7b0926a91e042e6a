import { GateUnavailable } from '@holdoff/throttle-core/redis';
import { expect, test } from 'vitest';
import { repeatGateCall, settlementRepeats } from './repeat-gate-call.ts';

test.each([
  { waitMs: -5, atLeastMs: 20_000 },
  { waitMs: 0, atLeastMs: 20_000 },
  { waitMs: 600_000, atLeastMs: 600_000 },
  { waitMs: Number.MAX_SAFE_INTEGER, atLeastMs: 86_400_000 },
])('a result that teaches a wait of $waitMs ms is told for $atLeastMs ms', ({ waitMs, atLeastMs }) => {
  const { triesMax, gapMs } = settlementRepeats(waitMs);
  expect(triesMax * gapMs).toBe(atLeastMs);
});

test('only an unavailable gate is asked again', async () => {
  let asked = 0;
  const broken = async (): Promise<never> => {
    asked += 1;
    throw new TypeError('defect');
  };
  await expect(repeatGateCall(broken, settlementRepeats(0), async () => undefined)).rejects.toThrow('defect');
  expect(asked).toBe(1);
});

test('an answer after some tries is the answer', async () => {
  const gaps: number[] = [];
  let asked = 0;
  const ask = async (): Promise<string> => {
    asked += 1;
    if (asked < 3) throw new GateUnavailable('settle', undefined);
    return 'settled';
  };
  const said = await repeatGateCall(ask, { triesMax: 3, gapMs: 7 }, async (ms) => void gaps.push(ms));
  expect([said, gaps]).toEqual(['settled', [7, 7]]);
});
