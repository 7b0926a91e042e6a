import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { type LocalRedis, silentLogger, startLocalRedis } from '@holdoff/service-runtime';
import { PRESETS, type HostKey, type Policy } from '@holdoff/throttle-core';
import { EnqueueClient, type UrlQueue, openUrlQueue, queueNames } from '@holdoff/url-job';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { enterThroughGate } from '../enter-through-gate.ts';
import { FakeGate } from '../testing/fake-gate.ts';
import { InboxConsumer, type InboxConsumerOptions } from './consume-inbox.ts';
import { InboxStream } from './inbox-stream.ts';

const run = promisify(execFile);
const names = queueNames();
let server: LocalRedis;
let redis: Redis;
let queue: UrlQueue;
let gate: FakeGate;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
});
afterAll(async () => {
  await queue.close();
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  gate = new FakeGate();
  queue = openUrlQueue(redis, names);
  await queue.waitUntilReady();
});

interface Counted {
  created: number;
  duplicates: number;
  rejected: string[];
  faults: number;
}

function scheduler(
  consumer = 'one',
  options: Partial<InboxConsumerOptions> & { policy?: Policy; claimIdleMs?: number } = {},
) {
  const counted: Counted = { created: 0, duplicates: 0, rejected: [], faults: 0 };
  const policy = options.policy ?? PRESETS.balanced;
  const stream = new InboxStream({
    redis,
    names,
    consumer,
    claimIdleMs: options.claimIdleMs ?? 60_000,
    rejectedKept: 1_000,
  });
  const client = new EnqueueClient({
    queue,
    nowMs: Date.now,
    enter: enterThroughGate(gate, {
      forHost: (hostname) => ({ hostKey: hostname as HostKey, policy }),
      forBatch: () => ({ policy, spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 } }),
    }),
  });
  const consuming = new InboxConsumer({
    stream,
    client,
    logger: silentLogger,
    batchMax: 500,
    pressure: () => null,
    events: {
      accepted: (count) => (counted.created += count),
      duplicate: (count) => (counted.duplicates += count),
      rejected: (field) => counted.rejected.push(field),
      failed: () => (counted.faults += 1),
    },
    ...options,
  });
  return { stream, client, consuming, counted };
}

async function rejections(): Promise<readonly Record<string, string>[]> {
  return (await redis.xrange(names.rejected, '-', '+')).map(([, fields]) => {
    const record: Record<string, string> = {};
    for (let index = 0; index < fields.length; index += 2)
      record[fields[index] ?? ''] = fields[index + 1] ?? '';
    return record;
  });
}

async function inboxIsEmpty(): Promise<void> {
  expect(await redis.xlen(names.inbox)).toBe(0);
  expect(await redis.xpending(names.inbox, names.inboxGroup)).toEqual([0, null, null, null]);
}

test('an entry that redis-cli added becomes a job, also if it was there before the first scheduler', async () => {
  const args = [
    '-p',
    String(server.port),
    'XADD',
    'holdoff:inbox',
    '*',
    'url',
    'HTTP://A.test/x#top',
    'batch',
    'nightly',
  ];
  await run('redis-cli', args);
  const { consuming, counted } = scheduler();
  expect(await consuming.takeBatch()).toBe(1);
  expect(counted).toMatchObject({ created: 1, rejected: [] });
  const [job] = await queue.getJobs(['prioritized']);
  expect(job?.data).toMatchObject({
    v: 1,
    url: 'http://a.test/x',
    batch: 'nightly',
    method: 'GET',
    priority: 50,
  });
  await inboxIsEmpty();
});

test('every field arrives: not_before as a delay, the rest as it is', async () => {
  const fields = ['url', 'http://a.test/', 'not_before', '+5m', 'priority', '7', 'method', 'HEAD'];
  const id = await redis.xadd(names.inbox, '*', ...fields, 'headers', 'contact', 'deadline', '+6h');
  await scheduler().consuming.takeBatch();
  const addedMs = Number(id?.split('-')[0]);
  const [job] = await queue.getDelayed();
  expect(job?.data).toMatchObject({
    notBeforeMs: addedMs + 300_000,
    deadlineMs: addedMs + 21_600_000,
    priority: 7,
    method: 'HEAD',
    headersRef: 'contact',
  });
  const score = await redis.zscore('{holdoff}:urls:delayed', job?.id ?? '');
  expect(Math.floor(Number(score) / 4_096)).toBe(addedMs + 300_000);
});

test('a refused entry says what is wrong with it, and its neighbours go on', async () => {
  const bad: readonly (readonly [string, readonly string[]])[] = [
    ['url', ['url', 'ftp://a.test/']],
    ['url', ['url', 'http://u:CANARY@a.test/']],
    ['url', ['batch', 'nightly']],
    ['colour', ['url', 'http://a.test/', 'colour', 'red']],
    ['priority', ['url', 'http://a.test/', 'priority', '101']],
    ['not_before', ['url', 'http://a.test/', 'not_before', '2020-01-01T00:00:00Z']],
    ['entry', ['url', `http://a.test/${'x'.repeat(20_000)}`]],
    ['entry', Array.from({ length: 2_000 }, (_, index) => String(index))],
    ['url', ['url', `http://a.test/${'x'.repeat(8_200)}`]],
  ];
  for (const [, fields] of bad) await redis.xadd(names.inbox, '*', ...fields);
  await redis.xadd(names.inbox, '*', 'url', 'http://good.test/');
  const { consuming, counted } = scheduler();
  await consuming.takeBatch();
  expect(counted.created).toBe(1);
  const kept = await rejections();
  expect(kept.map(({ field }) => field).toSorted()).toEqual(bad.map(([field]) => field).toSorted());
  for (const rejection of kept) {
    expect(rejection).toMatchObject({
      entry: expect.stringMatching(/^\d+-\d+$/),
      rule: expect.stringMatching(/^must /),
    });
    expect(JSON.stringify(rejection).length).toBeLessThan(1_500);
  }
  expect(JSON.stringify(kept)).not.toContain('CANARY');
  await inboxIsEmpty();
});

test('one page stays small whatever producers put into an entry', async () => {
  for (let entry = 0; entry < 20; entry += 1)
    await redis.xadd(names.inbox, '*', 'url', 'x'.repeat(1_000_000));
  const { stream } = scheduler();
  const page = await stream.read(500);
  expect(page.entries).toHaveLength(20);
  expect(page.entries.every(({ tooLarge, bytes }) => tooLarge && bytes === 1_000_003)).toBe(true);
  expect(JSON.stringify(page).length).toBeLessThan(20_000);
});

test('what the gate refuses is rejected with its reason; what the policy forbids never reaches the gate', async () => {
  gate.refuse = 'stopped';
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/', 'batch', 'stopped');
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/', 'method', 'HEAD');
  const { consuming } = scheduler('one', { policy: { ...PRESETS.balanced, methods: ['GET'] } });
  await consuming.takeBatch();
  expect((await rejections()).map(({ value }) => value).toSorted()).toEqual(['cancelled', 'method']);
  expect(await queue.count()).toBe(0);
  expect(gate.ledger.size).toBe(0);
});

test('a host that has to wait gets its jobs delayed, so that they stand in front of nobody', async () => {
  gate.waits.set('slow.test', Date.now() + 60_000);
  await redis.xadd(names.inbox, '*', 'url', 'http://slow.test/');
  await redis.xadd(names.inbox, '*', 'url', 'http://fast.test/');
  await scheduler().consuming.takeBatch();
  expect(await queue.getJobCounts('prioritized', 'delayed')).toEqual({ prioritized: 1, delayed: 1 });
});

test('the same URL twice is one job and one duplicate, in one batch or in two', async () => {
  for (let copy = 0; copy < 3; copy += 1) await redis.xadd(names.inbox, '*', 'url', 'http://a.test/');
  const { consuming, counted } = scheduler('one', { batchMax: 2 });
  await consuming.takeBatch();
  await consuming.takeBatch();
  expect(counted).toMatchObject({ created: 1, duplicates: 2 });
  expect(await queue.count()).toBe(1);
  await inboxIsEmpty();
});

test('entries of a scheduler that died are taken over, entered once and rejected once', async () => {
  for (let index = 0; index < 10; index += 1)
    await redis.xadd(names.inbox, '*', 'url', `http://a.test/${index}`);
  await redis.xadd(names.inbox, '*', 'url', 'nonsense');
  // Dies after everything but the acknowledgement.
  const dying = scheduler('dying');
  const page = await dying.stream.read(500);
  const cut = new InboxConsumer({
    stream: {
      read: async () => page,
      reject: (list) => dying.stream.reject(list),
      acknowledge: () => Promise.reject(new Error('killed')),
    },
    client: dying.client,
    logger: silentLogger,
    events: {
      accepted: () => undefined,
      duplicate: () => undefined,
      rejected: () => undefined,
      failed: () => undefined,
    },
    batchMax: 500,
    pressure: () => null,
  });
  await expect(cut.takeBatch()).rejects.toThrow('killed');
  expect(await redis.xlen(names.inbox)).toBe(11);

  const { consuming, counted } = scheduler('heir', { claimIdleMs: 0 });
  expect(await consuming.takeBatch()).toBe(11);
  expect(counted).toMatchObject({ created: 0, duplicates: 10, rejected: ['url'] });
  expect(await queue.count()).toBe(10);
  expect(await rejections()).toHaveLength(1);
  await inboxIsEmpty();
});

test('a batch that Redis could not take is done again as it is, without taking more', async () => {
  for (let index = 0; index < 30; index += 1)
    await redis.xadd(names.inbox, '*', 'url', `http://a.test/${index}`);
  const { client, consuming } = scheduler('one', { batchMax: 10 });
  let failures = 2;
  const flaky = scheduler('two', {
    batchMax: 10,
    client: {
      enqueueBulk: (requests) => {
        failures -= 1;
        if (failures >= 0)
          return Promise.reject(Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' }));
        return client.enqueueBulk(requests);
      },
    },
  });
  await expect(flaky.consuming.takeBatch()).rejects.toThrow('OOM');
  await expect(flaky.consuming.takeBatch()).rejects.toThrow('OOM');
  expect((await redis.xpending(names.inbox, names.inboxGroup))[0]).toBe(10);
  expect(await flaky.consuming.takeBatch()).toBe(10);
  expect(await consuming.takeBatch()).toBe(10);
  expect(await queue.count()).toBe(20);
});

test('an entry that cannot be entered stays alone with its trouble and is given up after ten deliveries', async () => {
  for (const path of ['a', 'cursed', 'b']) await redis.xadd(names.inbox, '*', 'url', `http://a.test/${path}`);
  const { client } = scheduler();
  const { consuming, counted } = scheduler('one', {
    claimIdleMs: 0,
    client: {
      enqueueBulk: (requests) =>
        requests.some(({ url }) => url.endsWith('cursed'))
          ? Promise.reject(new TypeError('a defect of ours'))
          : client.enqueueBulk(requests),
    },
  });
  for (let delivery = 1; delivery <= 9; delivery += 1) await consuming.takeBatch();
  expect(counted).toMatchObject({ created: 2, rejected: [] });
  expect(await redis.xlen(names.inbox)).toBe(1);
  await consuming.takeBatch();
  expect(await rejections()).toMatchObject([
    { field: 'entry', rule: 'could not be entered', raw: 'url http://a.test/cursed' },
  ]);
  await inboxIsEmpty();
});

test('two schedulers share a flood: each entry is one job, the loop rests under pressure and stops cleanly', async () => {
  const urls = 3_000;
  const pipeline = redis.pipeline();
  for (let index = 0; index < urls; index += 1)
    pipeline.xadd(names.inbox, '*', 'url', `http://h${index % 40}.test/${index}`);
  await pipeline.exec();
  let pressed = true;
  const both = ['one', 'two'].map((name) =>
    scheduler(name, { batchMax: 100, pressure: () => (pressed ? 'full' : null) }),
  );
  for (const { consuming } of both) consuming.start();
  await expect.poll(() => redis.xlen(names.inbox)).toBe(urls);
  pressed = false;
  await expect.poll(() => redis.xlen(names.inbox), { timeout: 15_000 }).toBe(0);
  await Promise.all(both.map(({ consuming }) => consuming.stop()));
  expect(await queue.count()).toBe(urls);
  expect(both.map(({ counted }) => counted.created).reduce((sum, count) => sum + count)).toBe(urls);
  expect(both.every(({ counted }) => counted.created > 0)).toBe(true);
  await inboxIsEmpty();
});

test('the status tells what waits and since when', async () => {
  const { stream } = scheduler('holder');
  expect(await stream.inspect()).toEqual({ entries: 0, pending: 0, oldestMs: 0 });
  const [seconds = 0] = await redis.time();
  await redis.xadd(names.inbox, `${(seconds - 60) * 1_000}-1`, 'url', 'http://a.test/1');
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/2');
  await stream.read(1);
  const status = await stream.inspect();
  expect(status).toMatchObject({ entries: 2, pending: 1 });
  expect(status.oldestMs).toBeGreaterThanOrEqual(60_000);
  expect(status.oldestMs).toBeLessThan(63_000);
});

test('consumers of dead processes are removed, unless they hold entries', async () => {
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/1');
  await scheduler('holds').stream.read(1);
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/2');
  await scheduler('empty').consuming.takeBatch();
  const stream = new InboxStream({
    redis,
    names,
    consumer: 'me',
    claimIdleMs: 60_000,
    rejectedKept: 100,
    consumerIdleMs: 0,
  });
  const consumers = async (): Promise<string> =>
    JSON.stringify(await redis.xinfo('CONSUMERS', names.inbox, names.inboxGroup));
  expect(await consumers()).toContain('empty');
  await expect
    .poll(async () => {
      await stream.inspect();
      return consumers();
    })
    .not.toContain('empty');
  expect(await consumers()).toContain('holds');
});

test('an inbox that was deleted, or a group that was, is made anew', async () => {
  const { consuming, counted } = scheduler();
  await consuming.takeBatch();
  await redis.del(names.inbox);
  await redis.xadd(names.inbox, '*', 'url', 'http://a.test/');
  await consuming.takeBatch();
  expect(counted.created).toBe(1);
});

test('a script cache that was emptied costs nothing', async () => {
  const { consuming, counted } = scheduler();
  for (let index = 0; index < 3; index += 1) {
    await redis.xadd(names.inbox, '*', 'url', `http://a.test/${index}`);
    await redis.script('FLUSH');
    await consuming.takeBatch();
  }
  expect(counted.created).toBe(3);
});
