import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SAMPLE_NOW_MS as NOW, sampleOutcome, waitSeconds } from '../testing/sample-plan-input.ts';
import { OUTCOME_CLASSES } from './classify-outcome.ts';
import { type JobFacts, type Plan, type PlanInput, planRetry } from './plan-retry.ts';
import { PRESET_NAMES, PRESETS } from './presets.ts';
import { readServerWait } from './read-server-wait.ts';
import { STOP_REASONS } from './stop-reason.ts';

const HORIZON_MS = 40 * 86_400_000;

const soon = fc.integer({ min: -60_000, max: HORIZON_MS }).map((ms) => NOW + ms);
const instantOrNone = fc.oneof(fc.constant(0), soon);
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 90 }),
  fc.integer({ min: 0, max: 10_000 }),
  fc.integer({ min: 0, max: 2 ** 31 }),
);
const tokens = fc.option(fc.double({ min: 0, max: 20, noNaN: true }), { nil: null });

const job: fc.Arbitrary<JobFacts> = fc.record({
  attempts: fc.integer({ min: 1, max: 2000 }),
  run: fc.integer({ min: 1, max: 50 }),
  throttledInRun: fc.integer({ min: 0, max: 8 }),
  deferrals: fc.integer({ min: 0, max: 60 }),
  startedAtMs: fc.constant(NOW - 1000),
  deadlineMs: instantOrNone,
  notBeforeMs: fc.constant(0),
  noHintEvents: fc.integer({ min: 0, max: 8 }),
  cooldownUntilMs: instantOrNone,
  openUntilMs: instantOrNone,
  batchTokensLeft: tokens,
  hostTokensLeft: tokens,
});

const outcome = fc
  .record({
    class: fc.constantFrom(...OUTCOME_CLASSES),
    source: fc.constantFrom('client' as const, 'proxy' as const, 'destination' as const),
    stop: fc.option(fc.constantFrom(...STOP_REASONS), { nil: null, freq: 8 }),
  })
  .map(({ class: name, ...rest }) => sampleOutcome(name, rest));

const wait = fc.oneof(
  { weight: 4, arbitrary: seconds.map(waitSeconds) },
  { weight: 1, arbitrary: fc.constant({ kind: 'absent' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'malformed' as const }) },
);

const policy = fc
  .record({
    preset: fc.constantFrom(...PRESET_NAMES),
    required: fc.boolean(),
    countMax: fc.constantFrom(null, 0, 3, 50),
    onAbsent: fc.constantFrom('fallback' as const, 'defer' as const, 'hold' as const, 'stop' as const),
    onMalformed: fc.constantFrom('fallback' as const, 'hold' as const, 'stop' as const),
    hostPauseMaxMs: fc.constantFrom(null, 3_600_000),
  })
  .map(({ preset, required, countMax, onAbsent, onMalformed, hostPauseMaxMs }) => ({
    ...PRESETS[preset],
    retryAfter: { ...PRESETS[preset].retryAfter, onAbsent, onMalformed, hostPauseMaxMs },
    deadline: { ...PRESETS[preset].deadline, required },
    defer: { ...PRESETS[preset].defer, countMax },
  }));

const input: fc.Arbitrary<PlanInput> = fc.record({
  outcome,
  wait,
  rateLimit: fc.option(fc.constant({ remaining: 1, windowMs: 1000, untilMs: NOW + 1000 }), { nil: null }),
  redirect: fc.option(fc.record({ hop: fc.integer({ min: 1, max: 8 }) }), { nil: null, freq: 6 }),
  method: fc.constantFrom('GET', 'HEAD', 'POST'),
  cancelled: fc.boolean(),
  approved: fc.boolean(),
  job,
  spend: fc.constant(null),
  policy,
  draw01: fc.double({ min: 0, max: 1, noNaN: true }),
  // A worker reads its instants from a monotonic clock, so they have fractions.
  nowMs: fc.double({ min: NOW, max: NOW + 60_000, noNaN: true }),
  receivedAtMs: fc.double({ min: NOW - 60_000, max: NOW, noNaN: true }),
  storedNotBeforeMs: fc.constant(null),
});

/** A job that nothing but its waits can stop, so that the properties of waits are not vacuous. */
const waiting: fc.Arbitrary<PlanInput> = input.map((any) => ({
  ...any,
  outcome: sampleOutcome(any.outcome.class === 'throttled' ? 'throttled' : 'unavailable'),
  redirect: null,
  method: 'GET',
  cancelled: false,
  approved: true,
  job: { ...any.job, attempts: 1, deferrals: 0, deadlineMs: 0, batchTokensLeft: null, hostTokensLeft: null },
  policy: {
    ...any.policy,
    deadline: { ...any.policy.deadline, required: false },
    defer: { ...any.policy.defer, countMax: null },
  },
}));

const isNext = ({ jobEffect }: Plan): boolean => jobEffect.kind === 'retry_at' || jobEffect.kind === 'defer';

const check = <T>(property: fc.IProperty<T>): void => {
  fc.assert(property, { numRuns: 1000 });
};

describe('P1: the lenient reader never asks earlier than the strict one', () => {
  const spelling = fc.oneof(
    fc.integer({ min: 0, max: 4_000_000_000 }).map(String),
    soon.map((ms) => new Date(ms).toUTCString()),
    fc.constantFrom('Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994', '007', '30.5', 'soon', ''),
  );
  test('for any spelling that the strict reader takes', () => {
    check(
      fc.property(spelling, waiting, (value, base) => {
        const hints = (parse: 'strict' | 'lenient') =>
          readServerWait(
            { status: 429, headers: { 'retry-after': [value] }, receivedAtMs: base.receivedAtMs },
            { parse, quirk: null },
          ).wait;
        const strict = hints('strict');
        fc.pre(strict.kind === 'delay');
        const [early, late] = [strict, hints('lenient')].map((wait) => planRetry({ ...base, wait }));
        expect(late?.notBeforeMs ?? Infinity).toBeGreaterThanOrEqual(early?.notBeforeMs ?? -Infinity);
        expect(late?.hostEffect.cooldownUntilMs).toBeGreaterThanOrEqual(
          early?.hostEffect.cooldownUntilMs ?? Infinity,
        );
      }),
    );
  });
});

describe('P2: never before the instant of the server', () => {
  test('neither the job nor the host', () => {
    check(
      fc.property(waiting, seconds, (base, asked) => {
        const plan = planRetry({ ...base, wait: waitSeconds(asked) });
        const serverMs = base.receivedAtMs + asked * 1000;
        expect(plan.hostEffect.cooldownUntilMs).toBeGreaterThanOrEqual(serverMs);
        expect(plan.notBeforeMs).toBeGreaterThanOrEqual(serverMs);
      }),
    );
  });

  test('nor before any other clock that is running', () => {
    check(
      fc.property(input, (any) => {
        const { notBeforeMs } = planRetry(any);
        if (notBeforeMs === null || any.redirect !== null) return;
        expect(notBeforeMs).toBeGreaterThanOrEqual(
          Math.max(any.nowMs, any.job.cooldownUntilMs, any.job.openUntilMs),
        );
      }),
    );
  });
});

describe('P3: a longer wait of the server never brings the job back earlier', () => {
  test('across all tiers', () => {
    check(
      fc.property(waiting, seconds, seconds, (base, one, other) => {
        const [short, long] = [Math.min(one, other), Math.max(one, other)].map((asked) =>
          planRetry({ ...base, wait: waitSeconds(asked) }),
        );
        expect(long?.notBeforeMs).toBeGreaterThanOrEqual(short?.notBeforeMs ?? Infinity);
        expect(long?.hostEffect.cooldownUntilMs).toBeGreaterThanOrEqual(
          short?.hostEffect.cooldownUntilMs ?? Infinity,
        );
      }),
    );
  });
});

describe('P4: pure', () => {
  test('the same input gives the same plan, and is not changed', () => {
    check(
      fc.property(input, (any) => {
        const before = JSON.stringify(any);
        expect(planRetry(any)).toEqual(planRetry(structuredClone(any)));
        expect(JSON.stringify(any)).toBe(before);
      }),
    );
  });
});

describe('P5: planning again moves nothing', () => {
  test('a stored instant stands at any later poll', () => {
    check(
      fc.property(
        input,
        fc.integer({ min: 0, max: HORIZON_MS }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (any, laterMs, draw01) => {
          const first = planRetry(any);
          if (first.notBeforeMs === null) return;
          const again = planRetry({
            ...any,
            nowMs: any.nowMs + laterMs,
            storedNotBeforeMs: first.notBeforeMs,
          });
          expect(again.notBeforeMs).toBe(first.notBeforeMs);
          expect(again.jobEffect).toEqual(first.jobEffect);
          expect(again.hostEffect).toEqual(first.hostEffect);
          // Another draw may move the pause of the fleet, never the stored instant of the job.
          const redrawn = planRetry({ ...any, draw01, storedNotBeforeMs: first.notBeforeMs });
          expect(redrawn.notBeforeMs ?? first.notBeforeMs).toBe(first.notBeforeMs);
        },
      ),
    );
  });
});

describe('P6: what becomes of the job does not hide what the fleet learns', () => {
  test('the host effect is the same for a job that is cancelled, spent, late or of a wrong method', () => {
    check(
      fc.property(input, job, fc.boolean(), fc.boolean(), (any, other, cancelled, approved) => {
        const facts = { ...other, noHintEvents: any.job.noHintEvents };
        const changed = planRetry({ ...any, job: facts, cancelled, approved, method: 'PUT' });
        expect(changed.hostEffect).toEqual(planRetry(any).hostEffect);
      }),
    );
  });
});

describe('bounds', () => {
  test('a job that goes on has attempts, tokens and time left', () => {
    check(
      fc.property(input, (any) => {
        const plan = planRetry(any);
        if (!isNext(plan) || any.redirect !== null || plan.notBeforeMs === null) return;
        const { totalMax } = any.policy.attempts;
        expect(totalMax === null || any.job.attempts < totalMax).toBe(true);
        expect(any.job.batchTokensLeft ?? 1).toBeGreaterThanOrEqual(1);
        const hostTokensLeft = any.outcome.class === 'throttled' ? null : any.job.hostTokensLeft;
        expect(hostTokensLeft ?? 1).toBeGreaterThanOrEqual(1);
        const { attemptMs, headroomMs } = any.policy.deadline;
        const deadlineMs = any.job.deadlineMs === 0 ? Infinity : any.job.deadlineMs;
        expect(plan.notBeforeMs + attemptMs + headroomMs).toBeLessThan(deadlineMs);
      }),
    );
  });

  test('every instant is a whole number of milliseconds, and slack is what is left', () => {
    check(
      fc.property(input, (any) => {
        const plan = planRetry(any);
        expect(Number.isSafeInteger(plan.hostEffect.cooldownUntilMs)).toBe(true);
        expect(plan.notBeforeMs === null || Number.isSafeInteger(plan.notBeforeMs)).toBe(true);
        if (plan.slackMs === null || plan.notBeforeMs === null) return;
        expect(plan.slackMs).toBe(any.job.deadlineMs - plan.notBeforeMs - any.policy.deadline.attemptMs);
      }),
    );
  });

  test('a slot is kept only for a short wait of a throttling host', () => {
    check(
      fc.property(input, (any) => {
        const { jobEffect } = planRetry(any);
        if (jobEffect.kind !== 'retry_at' || !jobEffect.inPlace) return;
        const asked = any.wait.kind === 'delay' ? any.wait.seconds * 1000 : Infinity;
        expect(any.outcome.class).toBe('throttled');
        expect(asked).toBeLessThanOrEqual(any.policy.retryAfter.inPlaceMaxMs);
        expect(jobEffect.notBeforeMs - any.receivedAtMs).toBeLessThanOrEqual(39_000);
      }),
    );
  });

  test('only the destination teaches the fleet, and only throttles count as without a hint', () => {
    check(
      fc.property(input, (any) => {
        const { hostEffect } = planRetry(any);
        const isTaught = hostEffect.cooldownUntilMs > 0 || hostEffect.noHint || hostEffect.hold !== null;
        expect(isTaught && any.outcome.source !== 'destination').toBe(false);
        expect(hostEffect.noHint && any.outcome.class !== 'throttled').toBe(false);
        expect(hostEffect.noHint && hostEffect.cooldownUntilMs <= any.receivedAtMs).toBe(false);
      }),
    );
  });
});
