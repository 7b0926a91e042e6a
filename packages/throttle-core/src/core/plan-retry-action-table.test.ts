import { describe, expect, test } from 'vitest';
import {
  SAMPLE_NOW_MS as NOW,
  sampleJobFacts,
  sampleOutcome,
  samplePlanInput,
  waitSeconds,
} from '../testing/sample-plan-input.ts';
import type { HostEffect } from './host-effect.ts';
import { type JobEffect, type PlanInput, planRetry } from './plan-retry.ts';
import { PRESETS } from './presets.ts';

const nothingLearned: HostEffect = { cooldownUntilMs: 0, noHint: false, hold: null, rateLimit: null };
const cooldown = (untilMs: number): HostEffect => ({ ...nothingLearned, cooldownUntilMs: untilMs });
const held = expect.objectContaining({ reason: expect.stringMatching(/./) }) as HostEffect['hold'];

interface Row {
  readonly situation: string;
  readonly input: Partial<PlanInput>;
  readonly hostEffect: HostEffect;
  readonly jobEffect: JobEffect;
}

// With the draw of 0.5: wake jitter 500 ms; the pad is the larger of a quarter of the wait and 1 s.
const actionTable: readonly Row[] = [
  {
    situation: '429 with a wait of exactly 30 s waits in its place',
    input: { wait: waitSeconds(30) },
    hostEffect: cooldown(NOW + 38_000),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 38_000, inPlace: true },
  },
  {
    situation: '429 with a wait of 31 s gives up its slot',
    input: { wait: waitSeconds(31) },
    hostEffect: cooldown(NOW + 39_250),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 39_250, inPlace: false },
  },
  {
    situation: '429 with a wait of exactly 300 s stays in this run',
    input: { wait: waitSeconds(300) },
    hostEffect: cooldown(NOW + 375_500),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 375_500, inPlace: false },
  },
  {
    situation: '429 with a wait of 301 s is deferred to the uncut instant of the server',
    input: { wait: waitSeconds(301) },
    hostEffect: cooldown(NOW + 376_750),
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 376_750 },
  },
  {
    situation: '429 with a wait of 0 is still spaced by pad and back-off',
    input: { wait: waitSeconds(0) },
    hostEffect: { ...cooldown(NOW + 1500), noHint: true },
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 1500, inPlace: true },
  },
  {
    situation: '429 with a wait of 0 after three of its kind is spaced by eight times the pad',
    input: { wait: waitSeconds(0), job: sampleJobFacts({ noHintEvents: 3 }) },
    hostEffect: { ...cooldown(NOW + 8500), noHint: true },
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 8500, inPlace: true },
  },
  {
    situation:
      '429 with a wait of 0 after fifty of its kind waits as long as one without a wait would, and is not held',
    input: { wait: waitSeconds(0), job: sampleJobFacts({ noHintEvents: 50 }) },
    hostEffect: { ...cooldown(NOW + 60_500), noHint: true },
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 60_500, inPlace: false },
  },
  {
    situation: '429 without a wait pauses the host and defers by back-off, not before the pause',
    input: {},
    hostEffect: { ...cooldown(NOW + 6250), noHint: true },
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 6250 },
  },
  {
    situation: '429 with an unreadable wait is treated as one without',
    input: { wait: { kind: 'malformed' } },
    hostEffect: { ...cooldown(NOW + 6250), noHint: true },
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 6250 },
  },
  {
    situation: 'the fourth 429 event without a wait pauses eight times as long and does not hold yet',
    input: { job: sampleJobFacts({ noHintEvents: 3 }) },
    hostEffect: { ...cooldown(NOW + 50_000), noHint: true },
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 50_000 },
  },
  {
    situation: 'the fifth 429 event without a wait holds the host for its owner',
    input: { job: sampleJobFacts({ noHintEvents: 4 }) },
    hostEffect: { ...cooldown(NOW + 75_000), noHint: true, hold: held },
    jobEffect: { kind: 'hold' },
  },
  {
    situation: 'a wait of exactly one hour is honoured without a hold',
    input: { wait: waitSeconds(3600) },
    hostEffect: cooldown(NOW + 4_500_500),
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 4_500_500 },
  },
  {
    situation: 'a wait over one hour holds the host, and the cooldown is not shortened either',
    input: { wait: waitSeconds(3601) },
    hostEffect: { ...cooldown(NOW + 4_501_750), hold: held },
    jobEffect: { kind: 'hold' },
  },
  {
    situation: 'the fourth 429 of a run stays in the run',
    input: { wait: waitSeconds(6), job: sampleJobFacts({ throttledInRun: 3 }) },
    hostEffect: cooldown(NOW + 8000),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 8000, inPlace: true },
  },
  {
    situation: 'the fifth 429 of a run is deferred to the next run',
    input: { wait: waitSeconds(6), job: sampleJobFacts({ throttledInRun: 4 }) },
    hostEffect: cooldown(NOW + 8000),
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 3_600_000 },
  },
  {
    situation: 'the fifth 429 of a run waits for the next run, though its own wait is shorter',
    input: { wait: waitSeconds(301), job: sampleJobFacts({ throttledInRun: 4 }) },
    hostEffect: cooldown(NOW + 376_750),
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 3_600_000 },
  },
  {
    situation: 'the next run does not begin before the instant of the server',
    input: { wait: waitSeconds(3600), job: sampleJobFacts({ throttledInRun: 4 }) },
    hostEffect: cooldown(NOW + 4_500_500),
    jobEffect: { kind: 'defer', notBeforeMs: NOW + 4_500_500 },
  },
  {
    situation: 'a host with an open circuit is not asked before it is over',
    input: { wait: waitSeconds(6), job: sampleJobFacts({ openUntilMs: NOW + 600_000 }) },
    hostEffect: cooldown(NOW + 8000),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 600_000, inPlace: false },
  },
  {
    situation: '503 with a wait is retried after it and counts for nothing else',
    input: { outcome: sampleOutcome('unavailable'), wait: waitSeconds(20) },
    hostEffect: cooldown(NOW + 25_500),
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 25_500, inPlace: false },
  },
  {
    situation: '502, 503, 504 and 408 without a wait are retried with back-off',
    input: { outcome: sampleOutcome('unavailable'), job: sampleJobFacts({ attempts: 3 }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 2000, inPlace: false },
  },
  {
    situation: 'a connection failure is retried with back-off',
    input: { outcome: sampleOutcome('transport') },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 500, inPlace: false },
  },
  {
    situation: '404, 410, 451 and other 4xx end the job and say nothing bad about the host',
    input: { outcome: sampleOutcome('permanent', { stop: 'permanent' }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'stop', reason: 'permanent' },
  },
  {
    situation: '401, 403 and challenge pages end the job as blocked',
    input: { outcome: sampleOutcome('blocked', { stop: 'blocked' }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'stop', reason: 'blocked' },
  },
  {
    situation: 'a failing proxy is retried with back-off and teaches nothing about the destination',
    input: { outcome: sampleOutcome('unavailable', { source: 'proxy' }), wait: waitSeconds(20) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'retry_at', notBeforeMs: NOW + 25_500, inPlace: false },
  },
  {
    situation: 'a proxy that the proxy policy has given up on ends the job',
    input: { outcome: sampleOutcome('neutral', { source: 'proxy', stop: 'proxy' }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'stop', reason: 'proxy' },
  },
  ...(['invalid_url', 'dns', 'tls', 'address_not_allowed'] as const).map((reason) => ({
    situation: `a fault of the request itself (${reason}) ends the job with its reason`,
    input: { outcome: sampleOutcome('neutral', { source: 'client', stop: reason }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'stop', reason } as const,
  })),
  {
    situation: 'a served page is done, and a wait on it means nothing',
    input: { outcome: sampleOutcome('served'), wait: waitSeconds(60) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'done' },
  },
  {
    situation: 'a served answer that cannot be used ends the job with its reason',
    input: { outcome: sampleOutcome('served', { stop: 'too_large' }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'stop', reason: 'too_large' },
  },
  {
    situation: 'an attempt cut by a shutdown is given back',
    input: { outcome: sampleOutcome('neutral', { source: 'client' }) },
    hostEffect: nothingLearned,
    jobEffect: { kind: 'release' },
  },
];

describe('action table of the default policy', () => {
  test.for(actionTable)('$situation', ({ input, hostEffect, jobEffect }) => {
    const plan = planRetry(samplePlanInput(input));
    expect({ hostEffect: plan.hostEffect, jobEffect: plan.jobEffect }).toEqual({ hostEffect, jobEffect });
  });
});

describe('worked examples of strict-budget', () => {
  const strict = PRESETS['strict-budget'];
  const example = (elapsedMs: number): PlanInput =>
    samplePlanInput({
      outcome: sampleOutcome('unavailable'),
      wait: waitSeconds(6),
      policy: { ...strict, deadline: { ...strict.deadline, attemptMs: 5000 } },
      job: sampleJobFacts({
        deadlineMs: NOW - elapsedMs + 20_000,
        batchTokensLeft: 20,
        hostTokensLeft: null,
      }),
    });

  test('GET, 503, 1 of 3 attempts, 4 of 20 s elapsed: wait 6 s, slack 5 s', () => {
    const plan = planRetry(example(4000));
    expect(plan.jobEffect).toEqual({ kind: 'retry_at', notBeforeMs: NOW + 6000, inPlace: false });
    expect(plan.slackMs).toBe(5000);
    expect(plan.reason).toEqual({ code: 'retry', binding: 'server_wait' });
  });

  test('the same with 12 s elapsed: stop, deadline', () => {
    const plan = planRetry(example(12_000));
    expect(plan.jobEffect).toEqual({ kind: 'stop', reason: 'deadline' });
    expect(plan.hostEffect.cooldownUntilMs).toBe(NOW + 6000);
    expect(plan.slackMs).toBeNull();
  });

  test('19 s remain, a date asks for 5 s, the next attempt needs 3 s: wait 5 s, slack 11 s', () => {
    const plan = planRetry({
      ...example(1000),
      wait: waitSeconds(5),
      policy: { ...strict, deadline: { ...strict.deadline, attemptMs: 3000 } },
    });
    expect(plan.notBeforeMs).toBe(NOW + 5000);
    expect(plan.slackMs).toBe(11_000);
  });
});
