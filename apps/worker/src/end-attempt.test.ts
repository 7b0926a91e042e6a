import type { SettleReply, SettleRequest } from '@holdoff/throttle-core';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import { sampleOutcome } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import { askGate } from './ask-gate.ts';
import type { Target, WorkerParts } from './attempt.ts';
import { answerOf } from './decide-step.ts';
import { DeliveryFault } from './deliver-result.ts';
import { endAttempt, endUnsent } from './end-attempt.ts';
import type { PageExchange } from './fetch-page.ts';
import {
  sampleAttempt,
  sampleExchange,
  SAMPLE_JOB,
  sampleTarget,
  sampleWorld,
} from './testing/sample-attempt.ts';

const throttled = {
  outcome: sampleOutcome('throttled'),
  status: 429,
  headers: { 'retry-after': ['20'] },
  body: new Uint8Array(0),
};

interface Change {
  readonly exchange?: Partial<PageExchange>;
  readonly parts?: Partial<WorkerParts>;
  readonly target?: Partial<Target>;
  /** What the gate answers to a settlement; absent: what it does. */
  readonly settle?: (real: () => Promise<SettleReply>, tries: number) => Promise<SettleReply>;
}

/** Admits an attempt, and ends it with one exchange. */
async function end({ exchange = {}, parts = {}, target = {}, settle = (real) => real() }: Change) {
  const world = sampleWorld(undefined, parts);
  const settled: SettleRequest[] = [];
  const gate = {
    ...world.gate,
    settle: (request: SettleRequest) => {
      settled.push(request);
      return settle(() => world.gate.settle(request), settled.length);
    },
  };
  const attempt = sampleAttempt({ ...world.parts, gate });
  const asked = sampleTarget(target);
  const admitted = await askGate(attempt, asked, 'attempt');
  if (admitted.kind !== 'admitted') throw new Error(`not admitted: ${admitted.kind}`);
  const answered = answerOf(attempt, asked, admitted, sampleExchange(exchange));
  const said = await endAttempt(attempt, answered).catch((error: unknown) => error);
  return { said, settled, ...world, answered };
}

test('a throttled job goes back with the instant that the gate wrote', async () => {
  const { said, gate, answered, seen } = await end({ exchange: throttled });
  expect(said).toEqual({ kind: 'delay', untilMs: answered.step.plan.notBeforeMs, data: null });
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toBeNull();
  expect(seen.delivered).toEqual([]);
});

test('a job that failed at a redirect target goes on there, and is counted there', async () => {
  const target = { url: 'https://other.example/end', hops: 1 };
  const { said } = await end({ exchange: throttled, target });
  expect(said).toMatchObject({
    kind: 'delay',
    data: { hop: { url: target.url, count: 1, asked: true } },
  });
});

test('a result that cannot be written gives the job back, and blames nobody', async () => {
  const fault = new DeliveryFault('folder', Object.assign(new Error('full'), { code: 'ENOSPC' }));
  const { said, gate, settled, clock } = await end({ parts: { deliver: () => Promise.reject(fault) } });
  expect(said).toEqual({ kind: 'delay', untilMs: clock.now() + 5_000, data: null });
  expect(settled.map(({ jobEffect }) => jobEffect.kind)).toEqual(['release']);
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toBeNull();
});

test('a settlement is repeated with its nonce for as long as the wait that it teaches', async () => {
  const exchange = { ...throttled, headers: { 'retry-after': ['600'] } };
  const awayMs = 500_000;
  const { said, settled, seen } = await end({
    exchange,
    settle: (real, tries) =>
      tries * 500 > awayMs ? real() : Promise.reject(new GateUnavailable('settle', undefined)),
  });
  expect(said).toMatchObject({ kind: 'delay' });
  expect(seen.slept.reduce((sum, ms) => sum + ms, 0)).toBe(awayMs);
  expect(new Set(settled.map(({ nonce }) => nonce)).size).toBe(1);
});

test('a settlement without a wait is given up in the end', async () => {
  const away = () => Promise.reject(new GateUnavailable('settle', undefined));
  const { said, settled } = await end({ settle: away });
  expect(said).toBeInstanceOf(GateUnavailable);
  expect(settled).toHaveLength(40);
});

test.each<{ what: string; job: SettleReply['job']; said: object }>([
  { what: 'without an instant is another delivery to go on with', job: null, said: { kind: 'abandon' } },
  {
    what: 'whose job waits goes back with its instant',
    job: { dueMs: 7_000, cause: 'not_before' },
    said: { kind: 'delay', untilMs: 7_000, data: null },
  },
])('a late result $what', async ({ job, said }) => {
  const settle: Change['settle'] = async (real) => ({ ...(await real()), kind: 'late', job });
  expect((await end({ exchange: throttled, settle })).said).toEqual(said);
});

test('a refused job is recorded before it is ended, and its end is the first that the gate knows', async () => {
  const { parts, gate, seen } = sampleWorld();
  const first = await endUnsent(sampleAttempt(parts), 'https://site.example/page', 'robots', 'disallowed');
  const second = await endUnsent(sampleAttempt(parts), 'https://site.example/page', 'deadline', 'late');
  const ended = { kind: 'stopped', reason: 'robots' };
  expect([first, second]).toEqual([
    { kind: 'complete', end: ended },
    { kind: 'complete', end: ended },
  ]);
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toEqual(ended);
  expect(new Set(seen.delivered.map(({ key }) => key)).size).toBe(1);
});
