import { describe, expect, test } from 'vitest';
import {
  SAMPLE_NOW_MS as NOW,
  sampleJobFacts,
  sampleOutcome,
  samplePlanInput,
  samplePolicy,
  waitSeconds,
} from '../testing/sample-plan-input.ts';
import type { HostEffect } from './host-effect.ts';
import { type PlanInput, planRetry } from './plan-retry.ts';
import { PRESETS } from './presets.ts';

const nothingLearned: HostEffect = { cooldownUntilMs: 0, noHint: false, hold: null, rateLimit: null };
const cooldown = (untilMs: number): HostEffect => ({ ...nothingLearned, cooldownUntilMs: untilMs });
const held = expect.objectContaining({ reason: expect.stringMatching(/./) }) as HostEffect['hold'];

describe('gates in order', () => {
  // Everything is wrong at once; each row repairs what the gates before it complain of.
  const spent = { bytes: 0, requests: 0, costMicros: 0 };
  const limits = { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 };
  const everything: Partial<PlanInput> = {
    cancelled: true,
    approved: false,
    method: 'POST',
    outcome: sampleOutcome('throttled', { stop: 'permanent' }),
    wait: { kind: 'malformed' },
    policy: samplePolicy({
      retryAfter: { onMalformed: 'stop', noHintEventsMax: 1, deferOverMs: 0 },
      defer: { countMax: 0 },
    }),
    job: sampleJobFacts({ attempts: 10, deadlineMs: NOW + 1, batchTokensLeft: 0 }),
    spend: { limits: { ...limits, requestsMax: 1 }, spent: { ...spent, requests: 1 } },
  };
  const repairs: readonly [string, Partial<PlanInput>][] = [
    ['cancelled', {}],
    ['not_approved', { cancelled: false }],
    ['method', { approved: true }],
    ['permanent', { method: 'HEAD' }],
    ['malformed_wait', { outcome: sampleOutcome('throttled') }],
    ['attempts', { wait: waitSeconds(1) }],
    ['deadline', { job: sampleJobFacts({ batchTokensLeft: 0 }) }],
    ['spend', { job: sampleJobFacts({ batchTokensLeft: 0, deadlineMs: 0 }) }],
    ['retry_budget', { spend: { limits, spent } }],
    ['deferrals', { job: sampleJobFacts() }],
  ];

  test('each stop reason comes in its turn', () => {
    let input = everything;
    const seen: unknown[] = [];
    for (const [reason, repair] of repairs) {
      input = { ...input, ...repair };
      if (reason === 'deadline') {
        input = { ...input, job: sampleJobFacts({ deadlineMs: NOW + 1, batchTokensLeft: 0 }) };
      }
      seen.push(planRetry(samplePlanInput(input)).jobEffect);
    }
    expect(seen).toEqual(repairs.map(([reason]) => ({ kind: 'stop', reason })));
  });

  test('with everything repaired the job waits', () => {
    const input = samplePlanInput({ wait: waitSeconds(1) });
    expect(planRetry(input).jobEffect.kind).toBe('retry_at');
  });
});

describe('consent', () => {
  test('a served answer of a cancelled batch does not count as done', () => {
    const input = samplePlanInput({ outcome: sampleOutcome('served'), cancelled: true });
    expect(planRetry(input).jobEffect).toEqual({ kind: 'stop', reason: 'cancelled' });
  });

  test('any method may be repeated where the policy says so', () => {
    const input = samplePlanInput({ method: 'POST', policy: PRESETS['header-first'], wait: waitSeconds(5) });
    expect(planRetry(input).jobEffect.kind).toBe('retry_at');
  });
});

describe('outcomes without a stop reason of their own', () => {
  test.for(['permanent', 'blocked'] as const)('%s ends the job', (name) => {
    const plan = planRetry(samplePlanInput({ outcome: sampleOutcome(name) }));
    expect(plan.jobEffect).toEqual({ kind: 'stop', reason: name });
    expect(plan.reason).toEqual({ code: 'outcome', stop: name });
  });

  test('a proxy answer without verdict is retried within the bounds, not given back for ever', () => {
    const input = samplePlanInput({ outcome: sampleOutcome('neutral', { source: 'proxy' }) });
    expect(planRetry(input).jobEffect).toEqual({
      kind: 'retry_at',
      notBeforeMs: NOW + 500,
      inPlace: false,
    });
  });

  test('a throttling proxy neither pauses nor holds the destination, nor parks the job for its owner', () => {
    const input = samplePlanInput({
      outcome: sampleOutcome('throttled', { source: 'proxy' }),
      policy: PRESETS['strict-budget'],
      rateLimit: { remaining: 0, windowMs: 1, untilMs: NOW + 1 },
      job: sampleJobFacts({ noHintEvents: 9 }),
    });
    const plan = planRetry(input);
    expect(plan.hostEffect).toEqual(nothingLearned);
    expect(plan.jobEffect.kind).toBe('retry_at');
  });
});

describe('waits of redirects', () => {
  const redirected = { outcome: sampleOutcome('served'), redirect: { hop: 1 } };

  test('without a wait the attempt goes on at once, whatever its host and budgets say', () => {
    const job = sampleJobFacts({
      attempts: 10,
      cooldownUntilMs: NOW + 60_000,
      openUntilMs: NOW + 60_000,
      deadlineMs: NOW + 100,
      batchTokensLeft: 0,
    });
    const plan = planRetry(samplePlanInput({ ...redirected, job }));
    expect([plan.jobEffect, plan.notBeforeMs]).toEqual([{ kind: 'continue' }, NOW]);
    expect(plan.hostEffect).toEqual(nothingLearned);
    expect(plan.reason).toEqual({ code: 'redirected', hop: 1, hopsMax: 5 });
  });

  test('with a wait the next hop is not before it, and the host that asked pauses', () => {
    const plan = planRetry(samplePlanInput({ ...redirected, wait: waitSeconds(20) }));
    expect([plan.jobEffect, plan.notBeforeMs]).toEqual([{ kind: 'continue' }, NOW + 25_500]);
    expect(plan.hostEffect).toEqual(cooldown(NOW + 25_500));
  });

  test('a wait past the deadline ends the job, a long one ends the run, a very long one holds the host', () => {
    const effects = [
      { wait: waitSeconds(20), job: sampleJobFacts({ deadlineMs: NOW + 40_000 }) },
      { wait: waitSeconds(400) },
      { wait: waitSeconds(4000) },
    ].map((change) => planRetry(samplePlanInput({ ...redirected, ...change })).jobEffect);
    expect(effects).toEqual([
      { kind: 'stop', reason: 'deadline' },
      { kind: 'defer', notBeforeMs: NOW + 500_500 },
      { kind: 'hold' },
    ]);
  });

  test('an unreadable wait on a redirect is under the rule for unreadable waits', () => {
    const strict = { ...redirected, wait: { kind: 'malformed' as const } };
    expect(planRetry(samplePlanInput(strict)).jobEffect).toEqual({ kind: 'continue' });
    const policy = samplePolicy({ retryAfter: { onMalformed: 'stop' } });
    expect(planRetry(samplePlanInput({ ...strict, policy })).jobEffect).toEqual({
      kind: 'stop',
      reason: 'malformed_wait',
    });
  });

  test('one redirect too many is a loop, and the limit itself is not', () => {
    const hop = (number: number) => planRetry(samplePlanInput({ ...redirected, redirect: { hop: number } }));
    expect(hop(5).jobEffect).toEqual({ kind: 'continue' });
    expect(hop(6).jobEffect).toEqual({ kind: 'stop', reason: 'redirect_loop' });
    expect(hop(6).reason).toEqual({ code: 'redirect_limit', hop: 6, hopsMax: 5 });
  });

  test('a batch that has spent all follows no redirect', () => {
    const spend = {
      limits: { bytesMax: 100, requestsMax: 0, costMicrosMax: 0 },
      spent: { bytes: 100, requests: 1, costMicros: 0 },
    };
    expect(planRetry(samplePlanInput({ ...redirected, spend })).jobEffect).toEqual({
      kind: 'stop',
      reason: 'spend',
    });
  });
});

describe('waits that cannot be used', () => {
  const rule = (
    retryAfter: Parameters<typeof samplePolicy>[0]['retryAfter'],
    change: Partial<PlanInput> = {},
  ) => planRetry(samplePlanInput({ policy: samplePolicy({ retryAfter: retryAfter ?? {} }), ...change }));
  const malformed = { wait: { kind: 'malformed' as const } };
  const unavailable = { outcome: sampleOutcome('unavailable') };

  test('on_absent: stop, hold, defer', () => {
    expect(rule({ onAbsent: 'stop' }).jobEffect).toEqual({ kind: 'stop', reason: 'malformed_wait' });
    expect(rule({ onAbsent: 'stop' }).reason).toEqual({ code: 'no_usable_wait', wait: 'absent' });
    expect(rule({ onAbsent: 'hold' }).jobEffect).toEqual({ kind: 'hold' });
    expect(rule({ onAbsent: 'hold' }).hostEffect.hold).toEqual(held);
    expect(rule({ onAbsent: 'defer' }).jobEffect).toEqual({ kind: 'defer', notBeforeMs: NOW + 3_600_000 });
    expect(rule({ onAbsent: 'defer' }).reason).toEqual({
      code: 'defer',
      cause: 'no_hint',
      binding: 'next_run',
    });
  });

  test('on_malformed: stop and hold, for a throttle and for an unavailable host alike', () => {
    for (const change of [malformed, { ...malformed, ...unavailable }]) {
      expect(rule({ onMalformed: 'stop' }, change).jobEffect).toEqual({
        kind: 'stop',
        reason: 'malformed_wait',
      });
      expect(rule({ onMalformed: 'hold' }, change).jobEffect).toEqual({ kind: 'hold' });
      expect(rule({ onMalformed: 'hold' }, change).hostEffect.hold).toEqual(held);
    }
  });

  test('an unreadable wait follows its own rule, not the one for absent waits', () => {
    expect(rule({ onAbsent: 'defer' }, malformed).jobEffect).toEqual({
      kind: 'defer',
      notBeforeMs: NOW + 6250,
    });
    expect(rule({ onAbsent: 'stop' }, malformed).jobEffect.kind).toBe('defer');
    expect(rule({ onMalformed: 'stop' }).jobEffect.kind).toBe('defer');
  });

  test('an unavailable host without a wait is asked again: only throttles must name one', () => {
    for (const onAbsent of ['stop', 'hold', 'defer'] as const) {
      expect(rule({ onAbsent }, unavailable).jobEffect.kind).toBe('retry_at');
    }
    const job = sampleJobFacts({ noHintEvents: 99 });
    expect(rule({}, { ...unavailable, job }).jobEffect.kind).toBe('retry_at');
    expect(rule({}, { ...unavailable, ...malformed, job }).hostEffect).toEqual(nothingLearned);
  });

  test('the rules are for waits that cannot be used: a usable one is kept', () => {
    const usable = { wait: waitSeconds(9) };
    expect(rule({ onAbsent: 'stop', onMalformed: 'stop' }, usable).jobEffect.kind).toBe('retry_at');
  });

  test('what a proxy says or leaves out is not under the rules for the host', () => {
    const outcome = sampleOutcome('throttled', { source: 'proxy' });
    expect(rule({ onAbsent: 'stop' }, { outcome }).jobEffect.kind).toBe('retry_at');
    expect(rule({ onMalformed: 'stop' }, { outcome, ...malformed }).jobEffect.kind).toBe('retry_at');
  });

  test('a wait that would hold the host ends a job that could not go on anyway', () => {
    const job = sampleJobFacts({ attempts: 10 });
    const plan = rule({}, { wait: waitSeconds(4000), job });
    expect(plan.jobEffect).toEqual({ kind: 'stop', reason: 'attempts' });
    expect(plan.hostEffect.hold).toEqual(held);
  });

  test('without a limit of events a silent host is never held', () => {
    const plan = rule({ noHintEventsMax: null }, { job: sampleJobFacts({ noHintEvents: 99 }) });
    expect(plan.jobEffect).toEqual({ kind: 'defer', notBeforeMs: NOW + 75_000 });
    expect(plan.hostEffect.hold).toBeNull();
  });
});

describe('deadline', () => {
  const at = (deadlineMs: number, required = false) =>
    planRetry(
      samplePlanInput({
        outcome: sampleOutcome('transport'),
        draw01: 0,
        policy: samplePolicy({ deadline: { required } }),
        job: sampleJobFacts({ deadlineMs }),
      }),
    );

  test('the next attempt and the headroom must end before it, not at it', () => {
    expect(at(NOW + 30_500).jobEffect).toEqual({ kind: 'stop', reason: 'deadline' });
    expect(at(NOW + 30_500).reason).toEqual({
      code: 'deadline',
      notBeforeMs: NOW,
      attemptMs: 30_000,
      headroomMs: 500,
      deadlineMs: NOW + 30_500,
    });
    expect(at(NOW + 30_501).jobEffect.kind).toBe('retry_at');
    expect(at(NOW + 30_501).slackMs).toBe(501);
  });

  test('a job without one goes on with no slack to tell, unless the policy demands one', () => {
    expect([at(0).jobEffect.kind, at(0).slackMs]).toEqual(['retry_at', null]);
    expect(at(0, true).jobEffect).toEqual({ kind: 'stop', reason: 'deadline' });
    expect(at(0, true).reason).toEqual({ code: 'deadline_missing' });
  });
});

describe('bounds of a job and its buckets', () => {
  const reasonOf = (change: Partial<PlanInput>) =>
    planRetry(samplePlanInput({ outcome: sampleOutcome('unavailable'), ...change })).reason;

  test('attempts: the last one is the limit itself', () => {
    expect(reasonOf({ job: sampleJobFacts({ attempts: 9 }) }).code).toBe('retry');
    expect(reasonOf({ job: sampleJobFacts({ attempts: 10 }) })).toEqual({
      code: 'attempts_used',
      attempts: 10,
      attemptsMax: 10,
    });
    const policy = samplePolicy({ attempts: { totalMax: null } });
    expect(reasonOf({ policy, job: sampleJobFacts({ attempts: 10_000 }) }).code).toBe('retry');
  });

  test.each([
    { what: 'its third 500', change: {}, code: 'attempts_used' },
    { what: 'its second 500', change: { job: sampleJobFacts({ attempts: 2 }) }, code: 'retry' },
    { what: 'a third 503', change: { status: 503 }, code: 'retry' },
    {
      what: 'a third failed connection',
      change: { status: 0, outcome: sampleOutcome('transport') },
      code: 'retry',
    },
    { what: 'a 500 that names a wait', change: { wait: waitSeconds(3) }, code: 'retry' },
    {
      what: 'a 500 after a throttle',
      change: { job: sampleJobFacts({ attempts: 3, throttledInRun: 1 }) },
      code: 'retry',
    },
    {
      what: 'a 500 where the policy takes it for passing',
      change: { policy: samplePolicy({ attempts: { serverErrorMax: null } }) },
      code: 'retry',
    },
  ])('a page that answers 500: $what', ({ change, code }) => {
    expect(reasonOf({ status: 500, job: sampleJobFacts({ attempts: 3 }), ...change }).code).toBe(code);
  });

  test('what a proxy did not carry is bounded by no attempt and no token', () => {
    const input = samplePlanInput({
      outcome: sampleOutcome('neutral', { source: 'proxy' }),
      unsent: true,
      job: sampleJobFacts({ attempts: 10, batchTokensLeft: 0, hostTokensLeft: 0 }),
    });
    expect(planRetry(input).jobEffect).toMatchObject({ kind: 'retry_at', uncounted: true });
    expect(planRetry({ ...input, unsent: false }).jobEffect).toEqual({ kind: 'stop', reason: 'attempts' });
  });

  test('deferrals: the last one is the limit itself', () => {
    const deferral = { outcome: sampleOutcome('throttled') };
    expect(reasonOf({ ...deferral, job: sampleJobFacts({ deferrals: 49 }) }).code).toBe('defer');
    expect(reasonOf({ ...deferral, job: sampleJobFacts({ deferrals: 50 }) })).toEqual({
      code: 'deferrals_used',
      deferrals: 50,
      deferralsMax: 50,
    });
    const policy = samplePolicy({ defer: { countMax: null } });
    expect(reasonOf({ ...deferral, policy, job: sampleJobFacts({ deferrals: 5000 }) }).code).toBe('defer');
  });

  test('tokens: a part of one is none, the empty bucket is named, and an absent bucket does not bind', () => {
    const tokens = (batchTokensLeft: number | null, hostTokensLeft: number | null) =>
      reasonOf({ job: sampleJobFacts({ batchTokensLeft, hostTokensLeft }) });
    expect(tokens(0, 5)).toEqual({ code: 'no_tokens', bucket: 'batch' });
    expect(tokens(5, 0.9)).toEqual({ code: 'no_tokens', bucket: 'host' });
    expect(tokens(1, 1).code).toBe('retry');
    expect(tokens(null, null).code).toBe('retry');
  });

  test('tokens: after a 429 an empty bucket of the host ends nothing, an empty one of the batch does', () => {
    const throttled = (batchTokensLeft: number, hostTokensLeft: number) =>
      reasonOf({
        outcome: sampleOutcome('throttled'),
        job: sampleJobFacts({ batchTokensLeft, hostTokensLeft }),
      }).code;
    expect(throttled(5, 0)).not.toBe('no_tokens');
    expect(throttled(0, 5)).toBe('no_tokens');
  });

  test('spend limits: reached is over, and 0 is no limit', () => {
    const spent = { bytes: 10, requests: 20, costMicros: 30 };
    const spend = (bytesMax: number, requestsMax: number, costMicrosMax: number) =>
      reasonOf({ spend: { spent, limits: { bytesMax, requestsMax, costMicrosMax } } });
    expect(spend(10, 0, 0)).toEqual({ code: 'spend', limit: 'bytes' });
    expect(spend(0, 20, 0)).toEqual({ code: 'spend', limit: 'requests' });
    expect(spend(0, 0, 30)).toEqual({ code: 'spend', limit: 'cost' });
    expect(spend(11, 21, 31).code).toBe('retry');
    expect(spend(0, 0, 0).code).toBe('retry');
  });
});

describe('which wait decided', () => {
  const binding = (change: Partial<PlanInput>) =>
    planRetry(samplePlanInput({ outcome: sampleOutcome('unavailable'), ...change })).reason;

  test.for([
    ['server_wait', { wait: waitSeconds(60) }],
    ['cooldown', { job: sampleJobFacts({ cooldownUntilMs: NOW + 90_000 }), wait: waitSeconds(1) }],
    ['circuit', { job: sampleJobFacts({ openUntilMs: NOW + 90_000 }), wait: waitSeconds(1) }],
    ['backoff', { job: sampleJobFacts({ attempts: 6 }), wait: waitSeconds(1) }],
    ['now', { draw01: 0 }],
    ['stored', { storedNotBeforeMs: NOW + 5 }],
  ] as const)('%s', ([name, change]) => {
    expect(binding(change)).toEqual({ code: 'retry', binding: name });
  });
});

test('a fraction of a millisecond is rounded up, for the job and for the host', () => {
  const at = (change: Partial<PlanInput>) =>
    planRetry(samplePlanInput({ draw01: 0, nowMs: NOW + 0.25, receivedAtMs: NOW + 0.25, ...change }));
  expect(at({ outcome: sampleOutcome('transport') }).notBeforeMs).toBe(NOW + 1);
  expect(at({ outcome: sampleOutcome('transport'), draw01: 0.5 }).notBeforeMs).toBe(NOW + 501);
  expect(at({}).hostEffect.cooldownUntilMs).toBe(NOW + 5001);
  expect(at({ draw01: 0.0001 }).hostEffect.cooldownUntilMs).toBe(NOW + 5002);
  expect(at({ wait: waitSeconds(9) }).hostEffect.cooldownUntilMs).toBe(NOW + 11_251);
});

describe('keeping the slot', () => {
  const inPlace = (change: Partial<PlanInput>) => {
    const { jobEffect } = planRetry(samplePlanInput({ wait: waitSeconds(10), ...change }));
    return jobEffect.kind === 'retry_at' && jobEffect.inPlace;
  };

  test('not for a wait that another clock makes long', () => {
    expect(inPlace({})).toBe(true);
    expect(inPlace({ job: sampleJobFacts({ cooldownUntilMs: NOW + 38_500 }) })).toBe(true);
    expect(inPlace({ job: sampleJobFacts({ cooldownUntilMs: NOW + 38_501 }) })).toBe(false);
  });

  test('not where the policy never does, not even for a wait of 0', () => {
    const policy = samplePolicy({ retryAfter: { inPlaceMaxMs: 0, padAtLeastMs: 0, wakeJitterMs: 0 } });
    expect(inPlace({ policy, wait: waitSeconds(0), draw01: 0 })).toBe(false);
  });

  test('not for a wait over the limit, however short the pad', () => {
    const policy = samplePolicy({ retryAfter: { wakeJitterMs: 10_000 } });
    expect(inPlace({ policy, wait: waitSeconds(30), draw01: 0 })).toBe(true);
    expect(inPlace({ policy, wait: waitSeconds(31), draw01: 0 })).toBe(false);
  });

  test('not for an unavailable host', () => {
    expect(inPlace({ outcome: sampleOutcome('unavailable') })).toBe(false);
  });
});

describe('hints for the pace', () => {
  test('a RateLimit hint is passed on, with a done job too', () => {
    const rateLimit = { remaining: 3, windowMs: 1000, untilMs: NOW + 1000 };
    const plan = planRetry(samplePlanInput({ outcome: sampleOutcome('served'), rateLimit }));
    expect(plan.hostEffect).toEqual({ ...nothingLearned, rateLimit });
  });
});

describe('numbers that would make a comparison silently false', () => {
  test.for([
    { nowMs: Number.NaN },
    { receivedAtMs: Infinity },
    { storedNotBeforeMs: Number.NaN },
    { draw01: Number.NaN },
    { draw01: -0.01 },
    { draw01: 1.01 },
  ])('%o is refused', (change) => {
    expect(() => planRetry(samplePlanInput(change))).toThrow(RangeError);
  });
});

test('500 ends by its own limit also where attempts have no other', () => {
  const plan = (attempts: number, status: number) =>
    planRetry(
      samplePlanInput({
        outcome: sampleOutcome('unavailable'),
        status,
        policy: samplePolicy({ attempts: { totalMax: null, serverErrorMax: 3 } }),
        job: sampleJobFacts({ attempts }),
      }),
    ).jobEffect;
  expect(plan(2, 500).kind).toBe('retry_at');
  expect(plan(3, 500)).toEqual({ kind: 'stop', reason: 'attempts' });
  expect(plan(300, 503).kind).toBe('retry_at');
});
