import { type BatchId, PRESETS } from '@holdoff/throttle-core';
import { OPEN_BATCH, sampleOutcome } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import { handleUrlJob } from './handle-url-job.ts';
import type { ProxyExit } from './proxy/exit-pool.ts';
import { SAMPLE_JOB as JOB, sampleDelivery, sampleJob, sampleWorld } from './testing/sample-attempt.ts';

const ATTEMPT_MS = PRESETS.balanced.deadline.attemptMs;
const unavailable = { outcome: sampleOutcome('unavailable'), status: 503, body: new Uint8Array(0) };

test('a served page is handed over, settled, and completes its queue job', async () => {
  const { parts, gate, seen } = sampleWorld();
  expect(await handleUrlJob(sampleDelivery(), parts)).toEqual({ kind: 'complete', end: { kind: 'done' } });
  expect(seen.delivered).toMatchObject([{ key: `${JOB}.1`, outcome: 'done', attempts: 1, status: 200 }]);
  expect((await gate.inspectJob(JOB))?.ended).toEqual({ kind: 'done' });
});

test('what robots.txt took is no part of the budget of the attempt', async () => {
  const world = sampleWorld();
  const robots: typeof world.parts.robots = {
    ...world.parts.robots,
    check: async () => {
      world.clock.advance(ATTEMPT_MS);
      return { kind: 'allowed', crawlDelaySeconds: null, by: 'rules' };
    },
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, robots });
  expect(world.seen.fetched.map(({ budgetMs }) => budgetMs)).toEqual([ATTEMPT_MS]);
});

test('all hops of an attempt share one budget', async () => {
  const world = sampleWorld(({ url }) => {
    world.clock.advance(12_000);
    const redirectTo = url.endsWith('/page') ? 'https://other.example/end' : null;
    return { redirectTo, status: redirectTo === null ? 200 : 302 };
  });
  await handleUrlJob(sampleDelivery(), world.parts);
  expect(world.seen.fetched.map(({ budgetMs }) => budgetMs)).toEqual([ATTEMPT_MS, ATTEMPT_MS - 12_000]);
  expect(world.seen.delivered).toMatchObject([{ finalUrl: 'https://other.example/end', attempts: 1 }]);
});

test('a worker that was frozen after its admission sends nothing', async () => {
  const world = sampleWorld();
  const conditionalHeaders = async () => {
    world.clock.advance(world.parts.scopeOf('https://site.example/').rules.leaseMarginMs + 1);
    return {};
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, conditionalHeaders });
  expect(world.seen.fetched).toMatchObject([{ budgetMs: 0 }]);
});

test('a delivery that is cut before it asks is put back and charged nothing', async () => {
  const { parts, gate, seen, clock } = sampleWorld();
  const delivery = sampleDelivery({ signal: AbortSignal.abort() });
  expect(await handleUrlJob(delivery, parts)).toEqual({ kind: 'delay', untilMs: clock.now(), data: null });
  expect(seen.fetched).toEqual([]);
  expect(await gate.inspectJob(JOB)).toBeUndefined();
});

const exit = {} as ProxyExit;
const pausedProxy = {
  exitOf: () => exit,
  proxyPauses: { pausedForMs: async () => 60_000, record: async () => undefined },
};

test('a paused proxy makes a job wait, and asks nothing of the host', async () => {
  const { parts, gate, clock } = sampleWorld(undefined, pausedProxy);
  expect(await handleUrlJob(sampleDelivery(), parts)).toEqual({
    kind: 'delay',
    untilMs: clock.now() + 60_000,
    data: null,
  });
  expect(await gate.inspectJob(JOB)).toBeUndefined();
});

test.each([
  { what: 'just in time', spareMs: 1, ends: false },
  { what: 'too late by a millisecond', spareMs: 0, ends: true },
])('a proxy that is back $what for the deadline of a job', async ({ spareMs, ends }) => {
  const { parts, gate, clock, seen } = sampleWorld(undefined, pausedProxy);
  const { rules, host } = parts.scopeOf('https://site.example/');
  const deadlineMs = clock.now() + 60_000 + rules.attemptMs + rules.headroomMs + spareMs;
  const entering = { job: JOB, host, rules, priority: 50, notBeforeMs: 0, deadlineMs };
  await gate.enter({ batch: 'nightly' as BatchId, batchDefaults: OPEN_BATCH, jobs: [entering] });
  const said = await handleUrlJob(sampleDelivery(), parts);
  expect(said.kind).toBe(ends ? 'complete' : 'delay');
  expect(seen.delivered.map(({ reason }) => reason)).toEqual(ends ? ['deadline'] : []);
});

test('a job that is refused after earlier attempts says how many it made', async () => {
  const { parts, gate, seen, clock } = sampleWorld(() => unavailable);
  const first = await handleUrlJob(sampleDelivery(), parts);
  if (first.kind !== 'delay') throw new Error(`a retry was expected, not ${first.kind}`);
  clock.advance(first.untilMs - clock.now());
  await gate.cancelBatch('nightly' as BatchId, 'owner');
  const second = await handleUrlJob(sampleDelivery({ number: 2 }), parts);
  expect(second).toEqual({ kind: 'complete', end: { kind: 'stopped', reason: 'cancelled' } });
  expect(seen.fetched).toHaveLength(1);
  expect(seen.delivered).toMatchObject([{ key: `${JOB}.0`, reason: 'cancelled', attempts: 1 }]);
});

test('a job that must wait at a redirect target goes on there', async () => {
  const world = sampleWorld(() => ({ redirectTo: 'https://held.example/end', status: 302 }));
  const { host } = world.parts.scopeOf('https://held.example/');
  await world.gate.hold(host, 'test', 'owner');
  const said = await handleUrlJob(sampleDelivery(), world.parts);
  expect(said).toMatchObject({
    kind: 'delay',
    data: { url: sampleJob().url, hop: { url: 'https://held.example/end', count: 1, asked: false } },
  });
});
