import { expect, test } from 'vitest';
import { parseDescription, type HostDescriptionInput } from '../description.ts';
import { buildLimiter, limitPerSecond } from './build-limiter.ts';
import { factorAt, factorSum, instantOfSum } from './limit-schedule.ts';
import type { Limiter } from './limiter.ts';

type LimiterInput = NonNullable<HostDescriptionInput['limiter']>;

function described(input: LimiterInput) {
  const [host] = parseDescription({ hosts: [{ name: 'h', limiter: input }] }).hosts;
  if (host === undefined) throw new Error('no host');
  return host.limiter;
}
const limiterOf = (input: LimiterInput): Limiter => buildLimiter(described(input));

/** `true` for allowed, else the wait in ms. */
function ask(limiter: Limiter, atMs: number, inFlight = 0): true | number {
  const verdict = limiter.take(atMs, inFlight);
  return verdict.kind === 'allowed' ? true : Math.round(verdict.waitMs * 1000) / 1000;
}
const allowedAmong = (limiter: Limiter, instants: readonly number[]): number =>
  instants.filter((atMs) => ask(limiter, atMs) === true).length;
const every = (stepMs: number, untilMs: number): number[] =>
  Array.from({ length: Math.floor(untilMs / stepMs) + 1 }, (_, n) => n * stepMs);

test('a token bucket gives its burst at once and then one request per interval', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 10, burst: 3 });
  expect([0, 0, 0, 0].map((at) => ask(bucket, at))).toEqual([true, true, true, 100]);
  expect(ask(bucket, 99.999)).toBeCloseTo(0.001, 6);
  expect(ask(bucket, 100)).toBe(true);
  expect(ask(bucket, 100)).toBe(100);
});

test('a token bucket that is asked while empty keeps the fractions it has earned', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 1, burst: 1 });
  expect(ask(bucket, 0)).toBe(true);
  const grants = every(100, 10_000)
    .slice(1)
    .filter((at) => ask(bucket, at) === true);
  expect(grants).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((second) => second * 1000));
});

test('a request exactly on time is allowed however odd the rate', () => {
  for (const perSecond of [3, 7, 13, 0.3]) {
    const bucket = limiterOf({ kind: 'token_bucket', perSecond, burst: 1 });
    const refused = Array.from({ length: 1_000 }, (_, n) => ask(bucket, (n * 1000) / perSecond)).filter(
      (answer) => answer !== true,
    );
    expect({ perSecond, refused }).toEqual({ perSecond, refused: [] });
  }
});

test('a token bucket never holds more than its burst', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 10, burst: 5 });
  expect(
    allowedAmong(
      bucket,
      Array.from({ length: 20 }, () => 3_600_000),
    ),
  ).toBe(5);
});

test('waiting exactly as long as a token bucket says is enough', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 7, burst: 2 });
  const asked = { grants: 0, refusals: 0 };
  for (let at = 0; asked.grants < 100;) {
    const verdict = bucket.take(at, 0);
    if (verdict.kind === 'allowed') asked.grants += 1;
    else asked.refusals += 1;
    at += verdict.kind === 'allowed' ? 0 : verdict.waitMs;
  }
  expect(asked).toEqual({ grants: 100, refusals: 98 });
});

test('a token bucket says what is left and when it is full again', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 2, burst: 4 });
  expect(bucket.take(0, 0)).toEqual({ kind: 'allowed', remaining: 3, resetMs: 500 });
  expect(bucket.take(0, 0)).toEqual({ kind: 'allowed', remaining: 2, resetMs: 1000 });
});

test('a fixed window counts from edge to edge and lets a double burst through at an edge', () => {
  const window = limiterOf({ kind: 'fixed_window', limit: 2, windowMs: 1000 });
  expect([0, 999].map((at) => ask(window, at))).toEqual([true, true]);
  expect(ask(window, 999)).toBe(1);
  expect([1000, 1000].map((at) => ask(window, at))).toEqual([true, true]);
  expect(ask(window, 1000)).toBe(1000);
  expect(ask(window, 1999.5)).toBe(0.5);
  expect(ask(window, 7000)).toBe(true);
});

test('a sliding window never lets more than its limit through in any window', () => {
  const window = limiterOf({ kind: 'sliding_window', limit: 3, windowMs: 1000 });
  const grants = every(37, 20_000).filter((at) => ask(window, at) === true);
  for (const from of grants) {
    expect(grants.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(3);
  }
  expect(grants.length).toBeGreaterThan(55);
});

test('a sliding window forgets a request exactly one window later', () => {
  const window = limiterOf({ kind: 'sliding_window', limit: 2, windowMs: 1000 });
  expect([0, 400].map((at) => ask(window, at))).toEqual([true, true]);
  expect(ask(window, 999.5)).toBe(0.5);
  expect(ask(window, 1000)).toBe(true);
  expect(ask(window, 1000)).toBe(400);
  expect(window.take(5_000, 0)).toEqual({ kind: 'allowed', remaining: 1, resetMs: 1000 });
});

test('a sliding window that counts refusals keeps an impatient client out for ever', () => {
  const counting = limiterOf({ kind: 'sliding_window', limit: 1, windowMs: 1000, countRejects: true });
  const forgiving = limiterOf({ kind: 'sliding_window', limit: 1, windowMs: 1000 });
  const knocks = every(500, 10_000);
  expect(allowedAmong(counting, knocks)).toBe(1);
  expect(allowedAmong(forgiving, knocks)).toBe(11);
});

test('the wait of a sliding window that counts refusals includes the refusal it answers', () => {
  const window = limiterOf({ kind: 'sliding_window', limit: 2, windowMs: 1000, countRejects: true });
  expect([0, 600].map((at) => ask(window, at))).toEqual([true, true]);
  // Counted now: 600 and 900. One of them has to leave the window.
  expect(ask(window, 900)).toBe(700);
  expect(ask(window, 1_600)).toBe(true);
});

test('a concurrency limit looks at the requests in flight alone', () => {
  const limiter = limiterOf({ kind: 'concurrency', limit: 2, waitMs: 750 });
  expect([0, 1, 2, 3, 1].map((inFlight) => ask(limiter, 5, inFlight))).toEqual([true, true, 750, 750, true]);
  expect(limiter.take(0, 1)).toEqual({ kind: 'allowed', remaining: 0, resetMs: null });
});

test('a penalty is extended by each early request and ends exactly when it said', () => {
  const limiter = limiterOf({ kind: 'penalty', perSecond: 10, burst: 1, penaltyMs: 2000, extendMs: 500 });
  expect(ask(limiter, 0)).toBe(true);
  expect(ask(limiter, 0)).toBe(2000);
  expect(ask(limiter, 100)).toBe(2400);
  expect(ask(limiter, 2499.5)).toBe(500.5);
  expect(ask(limiter, 3000)).toBe(true);
});

test('a request at the very end of a penalty is not early', () => {
  const limiter = limiterOf({ kind: 'penalty', perSecond: 1, burst: 1, penaltyMs: 2000, extendMs: 500 });
  expect([ask(limiter, 0), ask(limiter, 0), ask(limiter, 2000)]).toEqual([true, 2000, true]);
});

test('a penalty never reaches further than its bound', () => {
  const limiter = limiterOf({
    kind: 'penalty',
    perSecond: 10,
    burst: 1,
    penaltyMs: 2000,
    extendMs: 1000,
    penaltyMostMs: 3000,
  });
  const answers = [0, 0, 0, 0, 0, 100].map((at) => ask(limiter, at));
  expect(answers).toEqual([true, 2000, 3000, 3000, 3000, 3000]);
});

test('the ladder: early retries against 30 s grow the penalty to 60 s, obeying the first answer waits once', () => {
  const describe = { kind: 'penalty', perSecond: 1, burst: 1, penaltyMs: 30_000, extendMs: 10_000 } as const;
  const eager = limiterOf(describe);
  expect(ask(eager, 0)).toBe(true);
  expect(ask(eager, 0)).toBe(30_000);
  const refusals = [2_000, 6_000, 14_000].map((at) => ask(eager, at));
  expect(refusals).toEqual([38_000, 44_000, 46_000]);
  const obedient = limiterOf(describe);
  expect([ask(obedient, 0), ask(obedient, 0), ask(obedient, 30_000)]).toEqual([true, 30_000, true]);
});

test('the bucket behind a penalty goes on filling while everything is refused', () => {
  const limiter = limiterOf({ kind: 'penalty', perSecond: 10, burst: 5, penaltyMs: 2000 });
  expect(allowedAmong(limiter, [0, 0, 0, 0, 0, 0])).toBe(5);
  expect(allowedAmong(limiter, [2000, 2000, 2000, 2000, 2000])).toBe(5);
});

test('a host without a limiter allows everything', () => {
  expect(allowedAmong(limiterOf({ kind: 'none' }), every(0.1, 1000))).toBe(10_001);
});

const HALVED = [
  { atMs: 10_000, factor: 0.5 },
  { atMs: 20_000, factor: 1 },
];

test.each<[string, LimiterInput, readonly [number, number, number]]>([
  ['token bucket', { kind: 'token_bucket', perSecond: 10, burst: 1, changes: HALVED }, [100, 50, 100]],
  ['fixed window', { kind: 'fixed_window', limit: 10, windowMs: 1000, changes: HALVED }, [100, 50, 100]],
  ['sliding window', { kind: 'sliding_window', limit: 10, windowMs: 1000, changes: HALVED }, [100, 50, 100]],
])('a %s halves and recovers with its schedule', (_name, input, expected) => {
  const limiter = limiterOf(input);
  const grants = every(1, 29_999).filter((at) => ask(limiter, at) === true);
  const within = (from: number, to: number): number => grants.filter((at) => at >= from && at < to).length;
  const seen = [within(0, 10_000), within(10_000, 20_000), within(20_000, 30_000)];
  const far = seen.filter((count, at) => Math.abs(count - (expected[at] ?? 0)) > 5);
  expect({ seen, far }).toEqual({ seen, far: [] });
});

test('a halved concurrency limit lets half as many in', () => {
  const limiter = limiterOf({ kind: 'concurrency', limit: 4, changes: HALVED });
  expect([ask(limiter, 0, 3), ask(limiter, 10_000, 3), ask(limiter, 10_000, 1)]).toEqual([true, 1000, true]);
});

test('a wait across a change of the limit ends when the new rate has earned the token', () => {
  const bucket = limiterOf({ kind: 'token_bucket', perSecond: 1, burst: 1, changes: HALVED });
  expect(ask(bucket, 9_500)).toBe(true);
  // Half a token by 10 s, the other half at half speed.
  expect(ask(bucket, 9_500)).toBe(1_500);
  expect(ask(bucket, 10_999)).toBe(1);
  expect(ask(bucket, 11_000)).toBe(true);
});

test('the schedule is the same from both sides: summing a factor and finding the instant of a sum', () => {
  expect([0, 9_999, 10_000, 19_999, 20_000].map((at) => factorAt(HALVED, at))).toEqual([1, 1, 0.5, 0.5, 1]);
  expect(factorSum(HALVED, 0, 30_000)).toBe(25_000);
  expect(factorSum(HALVED, 12_000, 14_000)).toBe(1_000);
  expect(factorSum(HALVED, 5_000, 5_000)).toBe(0);
  for (const from of [0, 3_000, 10_000, 15_000, 25_000]) {
    for (const length of [1, 4_000, 12_345, 30_000]) {
      expect(instantOfSum(HALVED, from, factorSum(HALVED, from, from + length))).toBeCloseTo(
        from + length,
        6,
      );
    }
  }
});

test.each<[LimiterInput, number | null]>([
  [{ kind: 'none' }, null],
  [{ kind: 'concurrency', limit: 3 }, null],
  [{ kind: 'token_bucket', perSecond: 10, burst: 50 }, 10],
  [{ kind: 'penalty', perSecond: 4, penaltyMs: 1 }, 4],
  [{ kind: 'fixed_window', limit: 120, windowMs: 60_000 }, 2],
  [{ kind: 'sliding_window', limit: 2, windowMs: 1_000 }, 2],
  [{ kind: 'token_bucket', perSecond: 10, changes: HALVED }, 25 / 3],
])('the limit of %j over 30 s is %j per second', (input, expected) => {
  expect(limitPerSecond(described(input), 0, 30_000)).toBe(expected);
});
