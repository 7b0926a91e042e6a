import type { HostKey, JobId } from '@holdoff/throttle-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { endExpired } from '../end-expired.ts';
import { type SchedulerWorld, openWorld } from '../testing/scheduler-world.ts';
import { IndexSweep } from './index-sweep.ts';

let world: SchedulerWorld;
let inboxPending: boolean;

beforeAll(async () => {
  world = await openWorld(process.env['PATH'] ?? '');
});
afterAll(() => world.close());
beforeEach(async () => {
  inboxPending = false;
  await world.empty();
});

const HOST = 'slow.test' as HostKey;
const sweep = () =>
  new IndexSweep({
    gate: world.gate,
    queue: world.queue,
    redis: world.redis,
    names: world.names,
    random01: () => 0,
    inboxPending: async () => inboxPending,
  }).sweep();

/** Jobs of a held host: all of them wait in its lane, delayed in the queue. */
async function heldJobs(count: number): Promise<readonly JobId[]> {
  await world.gate.hold(HOST, 'test', 'owner');
  const jobs: JobId[] = [];
  for (let index = 0; index < count; index += 1)
    jobs.push(await world.enter({ url: `http://slow.test/${index}` }));
  return jobs;
}

/** Changes the gate's packed state as no call of its own would. */
async function edit(key: string, change: string): Promise<void> {
  const script = `local state = cmsgpack.unpack(redis.call('GET', KEYS[1])) ${change}
    redis.call('SET', KEYS[1], cmsgpack.pack(state), 'KEEPTTL')`;
  await world.redis.eval(script, 1, key);
}

test('what agrees is left alone', async () => {
  await heldJobs(20);
  await world.enter({ url: 'http://free.test/', notBeforeMs: Date.now() + 60_000 });
  await world.enter({ url: 'http://free.test/now' });
  expect(await sweep()).toMatchObject({ recalled: 0, orphaned: 0, removed: 0 });
  expect(await world.queue.getDelayedCount()).toBe(21);
});

test('jobs of a cancelled batch go to a worker, which ends them, also while their host is held', async () => {
  await heldJobs(5);
  for (const batch of await world.gate.listBatches()) await world.gate.cancelBatch(batch, 'owner');
  expect(await sweep()).toMatchObject({ recalled: 5 });
  expect(await world.queue.getDelayedCount()).toBe(0);
});

test('jobs that a lane has lost go to a worker, which asks the gate anew', async () => {
  const jobs = await heldJobs(5);
  await world.redis.del(`{holdoff}:lane:${HOST}`);
  expect(await sweep()).toMatchObject({ recalled: 5 });
  expect(await world.queue.getPrioritizedCount()).toBe(jobs.length);
});

test('a host that nobody looks at any more gets its first job sent to a worker', async () => {
  await heldJobs(3);
  await edit(`{holdoff}:host:${HOST}`, 'state.hold, state.holdBy, state.heldAt = nil, nil, nil');
  const snapshot = await world.gate.inspectHost(HOST);
  expect(snapshot).toMatchObject({ waiting: 3, hold: null, lookAtMs: null });
  expect(await sweep()).toMatchObject({ recalled: 1 });
});

test('a waiting job that the queue no longer has is ended, but not while it may be on its way', async () => {
  const [gone = '' as JobId, stays] = await heldJobs(2);
  await world.redis.zrem('{holdoff}:urls:delayed', gone);
  await world.redis.del(`{holdoff}:urls:${gone}`);
  expect(await sweep()).toMatchObject({ orphaned: 0 });
  await edit(`{holdoff}:job:${gone}`, 'state.t = state.t - 1000000');
  inboxPending = true;
  expect(await sweep()).toMatchObject({ orphaned: 0 });
  inboxPending = false;
  expect(await sweep()).toMatchObject({ orphaned: 1 });
  expect((await world.gate.inspectJob(gone))?.ended).toEqual({ kind: 'stopped', reason: 'cancelled' });
  expect(await world.gate.listLane(HOST, 0, 10)).toEqual([stays]);
});

test('a delayed job that has ended leaves the queue', async () => {
  const [job = '' as JobId] = await heldJobs(1);
  const known = await world.gate.inspectJob(job);
  if (known === undefined) throw new Error('fixture');
  const end = { kind: 'stopped', reason: 'cancelled' } as const;
  await world.gate.finish({ job, batch: known.batch, delivery: 0, end, evidence: 'test' });
  expect(await sweep()).toMatchObject({ removed: 1 });
  expect(await world.queue.getDelayedCount()).toBe(0);
});

test('an expired job is handed to a worker; one that the queue has lost is ended here', async () => {
  const [waits = '' as JobId, lost = '' as JobId] = await heldJobs(2);
  await world.redis.zrem('{holdoff}:urls:delayed', lost);
  await world.redis.del(`{holdoff}:urls:${lost}`);
  await endExpired([waits, lost, 'j_unknown_unknown' as JobId], world);
  expect(await world.queue.getPrioritizedCount()).toBe(1);
  expect((await world.gate.inspectJob(waits))?.ended).toBeNull();
  expect((await world.gate.inspectJob(lost))?.ended).toEqual({ kind: 'stopped', reason: 'deadline' });
});
