import { createMemoryGate, type BatchId, type Gate, type HostKey, type JobId } from '@holdoff/throttle-core';
import { GateFixture, ManualClock } from '@holdoff/throttle-core/testing';
import { queueNames } from '@holdoff/url-job';
import { beforeEach, expect, test } from 'vitest';
import { refusePayload } from './refuse-payload.ts';

const FAULT = { field: 'url', rule: 'must be there', value: 'undefined' };
let on: GateFixture;
let gate: Gate;
let dead: string[][];
let called: JobId[];

beforeEach(() => {
  const clock = new ManualClock();
  gate = createMemoryGate({ now: clock.now });
  on = new GateFixture(gate, clock);
  dead = [];
  called = [];
});

const refuse = (number: number, delivery = 1) =>
  refusePayload(
    { job: on.job(number), number: delivery, data: { odd: true }, signal: new AbortController().signal },
    FAULT,
    {
      stores: {
        gate,
        names: queueNames(),
        queueRedis: { xadd: async (...entry: unknown[]) => (dead.push(entry.map(String)), '1-0') } as never,
      },
      call: (jobs) => void called.push(...jobs),
    },
  );

test('a refused payload is kept and ends its job, and its place is given to the next one', async () => {
  await on.enter([1, 2, 3]);
  expect(await refuse(1)).toEqual({ kind: 'complete', end: { kind: 'stopped', reason: 'poison' } });
  expect(dead[0]).toEqual(expect.arrayContaining([on.job(1), '{"odd":true}']));
  expect(called).toEqual([on.job(3)]);
  expect((await gate.inspectJob(on.job(1)))?.ended).toEqual({ kind: 'stopped', reason: 'poison' });
});

test('a delivery that is no longer the current one ends nothing', async () => {
  await on.enter([1]);
  await on.admitted(1, { delivery: 2 });
  expect(await refuse(1, 1)).toEqual({ kind: 'abandon' });
  expect((await gate.inspectJob(on.job(1)))?.ended).toBeNull();
});

test('what had ended before keeps its end', async () => {
  await on.enter([1]);
  await on.settle(1, await on.admitted(1));
  expect(await refuse(1, 2)).toEqual({ kind: 'complete', end: { kind: 'done' } });
});

test('a job that the gate never met is only kept', async () => {
  expect(await refuse(9)).toMatchObject({ kind: 'complete' });
  expect(dead).toHaveLength(1);
  expect(await gate.inspectHost('site.example' as HostKey)).toBeUndefined();
  expect(await gate.inspectBatch('nightly' as BatchId)).toBeUndefined();
});
