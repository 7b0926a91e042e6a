import { Worker } from 'bullmq';
import { silentLogger } from '@holdoff/service-runtime';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type SchedulerWorld, openWorld } from '../testing/scheduler-world.ts';
import type { PoisonReason } from './judge-job.ts';
import { sweepPoison } from './poison-sweep.ts';

let world: SchedulerWorld;
let buried: PoisonReason[];

beforeAll(async () => {
  world = await openWorld(process.env['PATH'] ?? '');
});
afterAll(() => world.close());
beforeEach(async () => {
  buried = [];
  await world.empty();
});

const sweep = () =>
  sweepPoison({
    redis: world.redis,
    names: world.names,
    queue: world.queue,
    gate: world.gate,
    logger: silentLogger,
    buried: (reason) => void buried.push(reason),
  });

const key = (id: string): string => `{holdoff}:urls:${id}`;

async function dead(): Promise<readonly Record<string, string>[]> {
  return (await world.redis.xrange(world.names.dead, '-', '+')).map(([, fields]) =>
    Object.fromEntries(
      fields.flatMap((field, index) => (index % 2 === 0 ? [[field, fields[index + 1] ?? '']] : [])),
    ),
  );
}

test('a job that nobody can read leaves the queue with its raw bytes, its ledger ends, and others run on', async () => {
  const cursed = await world.enter({ url: 'http://a.test/cursed' });
  const good = await world.enter({ url: 'http://b.test/good' });
  await world.redis.hset(key(cursed), 'data', '{"v":1,bad');
  const done: string[] = [];
  const worker = new Worker(
    world.names.queue,
    async (job) => {
      done.push(job.id ?? '');
    },
    {
      connection: { url: world.server.url, maxRetriesPerRequest: null },
      prefix: world.names.prefix,
      lockDuration: 1_000,
      stalledInterval: 300,
      maxStalledCount: 1_000,
      runRetryDelay: 20,
    },
  );
  worker.on('error', () => undefined);
  await expect.poll(() => world.redis.lrange(key('active'), 0, -1), { timeout: 10_000 }).toContain(cursed);
  await expect.poll(sweep, { timeout: 10_000 }).toBe(1);
  await expect.poll(() => done, { timeout: 10_000 }).toEqual([good]);
  await worker.close(true);

  expect(buried).toEqual(['data_unreadable']);
  expect(await dead()).toMatchObject([
    { id: cursed, reason: 'data_unreadable', data: '{"v":1,bad', data_bytes: '10' },
  ]);
  expect(await world.redis.exists(key(cursed), key(`${cursed}:lock`))).toBe(0);
  expect(await world.redis.lrange(key('active'), 0, -1)).not.toContain(cursed);
  expect((await world.gate.inspectJob(cursed))?.ended).toEqual({ kind: 'stopped', reason: 'poison' });
}, 40_000);

test.each([
  ['data_unreadable', { data: '{bad' }],
  ['opts_unreadable', { opts: '{bad' }],
  ['opts_unreadable', { opts: 'null' }],
  ['progress_unreadable', { progress: 'x' }],
  ['oversized', { data: JSON.stringify('x'.repeat(2_000_000)) }],
])('%s is buried, and what is kept of it is bounded', async (reason, fields) => {
  const job = await world.enter({ url: 'http://a.test/' });
  await world.redis.hset(key(job), fields);
  await world.redis.zrem(key('prioritized'), job);
  await world.redis.lpush(key('active'), job);
  expect(await sweep()).toBe(1);
  expect(buried).toEqual([reason]);
  expect(JSON.stringify(await dead()).length).toBeLessThan(140_000);
  expect(await sweep()).toBe(0);
});

test('bytes that are no text are judged and kept as they are', async () => {
  const job = await world.enter({ url: 'http://a.test/' });
  const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x80]);
  await world.redis.hset(key(job), 'data', bytes);
  await world.redis.lpush(key('active'), job);
  expect(await sweep()).toBe(1);
  const [entry] = await world.redis.xrangeBuffer(world.names.dead, '-', '+');
  const fields = entry?.[1] ?? [];
  expect(fields[fields.findIndex((field) => field.toString() === 'data') + 1]).toEqual(bytes);
});

test('readable jobs, missing hashes and the names of the queue itself are left alone', async () => {
  const job = await world.enter({ url: 'http://a.test/' });
  await world.redis.lpush(key('active'), job, 'j_missing_missing', 'meta', 'delayed', 'wait');
  const before = await world.redis.dump(key('meta'));
  expect(await sweep()).toBe(0);
  expect(await world.redis.dump(key('meta'))).toEqual(before);
  expect(await dead()).toEqual([]);
});

test('a foreign producer’s job with an id of its own is buried as well', async () => {
  await world.redis.hset(key('weird id:1:2'), { data: '{bad', opts: '{}', name: 'x' });
  await world.redis.lpush(key('active'), 'weird id:1:2');
  expect(await sweep()).toBe(1);
  expect(await dead()).toMatchObject([{ id: 'weird id:1:2' }]);
});
