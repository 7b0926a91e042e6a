import { expect, test } from 'vitest';
import { ClockGuard, type ClockState } from './clock-guard.ts';

function guard(aheadMs: number, roundTripMs: number) {
  const changes: ClockState[] = [];
  let monotonic = 0;
  const clock = { aheadMs };
  const made = new ClockGuard({
    gateNow: async () => {
      monotonic += roundTripMs;
      return 1_000_000 + monotonic - roundTripMs / 2;
    },
    wallNow: () => 1_000_000 + monotonic + clock.aheadMs,
    monotonicMs: () => monotonic,
    skewMaxMs: 1_000,
    onChange: (state) => changes.push(state),
  });
  return { made, changes, clock };
}

test.each([
  { aheadMs: 0, roundTripMs: 4, ok: true },
  { aheadMs: 900, roundTripMs: 4, ok: true },
  { aheadMs: 1_100, roundTripMs: 4, ok: false },
  { aheadMs: -1_100, roundTripMs: 4, ok: false },
  { aheadMs: 3_600_000, roundTripMs: 4, ok: false },
  { aheadMs: 1_400, roundTripMs: 1_000, ok: true },
])(
  'a clock $aheadMs ms ahead over a $roundTripMs ms round trip is ok: $ok',
  async ({ aheadMs, roundTripMs, ok }) => {
    expect((await guard(aheadMs, roundTripMs).made.check()).ok).toBe(ok);
  },
);

test('tells a change once, and the way back once', async () => {
  const { made, changes, clock } = guard(0, 2);
  await made.check();
  await made.check();
  clock.aheadMs = 5_000;
  await made.check();
  await made.check();
  clock.aheadMs = 0;
  await made.check();
  expect(changes.map((state) => state.ok)).toEqual([true, false, true]);
});

test('is not ok before the first check', () => {
  expect(guard(0, 2).made.state.ok).toBe(false);
});

test('an answer of the gate that does not go with the clock is looked into at once, and once', async () => {
  const { made, changes, clock } = guard(0, 2);
  await made.check();
  made.suspect(1_000_500);
  clock.aheadMs = 3_600_000;
  for (let answers = 0; answers < 100; answers += 1) made.suspect(1_000_500);
  await expect.poll(() => changes.map((state) => state.ok)).toEqual([true, false]);
  // Known already: the next checks are the timer's.
  made.suspect(1_000_500);
  expect(made.state).toMatchObject({ ok: false });
});

test('an answer that was slow is no jump of the clock', async () => {
  const { made, changes } = guard(0, 2);
  await made.check();
  made.suspect(995_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(changes.map((state) => state.ok)).toEqual([true]);
});
