import { Redis } from 'ioredis';
import { startLocalRedis, type LocalRedis } from '@holdoff/service-runtime';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { EnqueueClient, type Enter, type EnterDecision } from './enqueue-client.ts';
import { promoteCalled } from './promote-called.ts';
import { queueNames } from './queue-names.ts';
import { type UrlQueue, openUrlQueue } from './url-queue.ts';

let server: LocalRedis;
let redis: Redis;
let queue: UrlQueue;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  queue = openUrlQueue(redis, queueNames());
});
afterAll(async () => {
  await queue.close();
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  // Only the jobs: the queue's own settings are written once, when it is opened.
  await queue.obliterate({ force: true });
  await queue.close();
  queue = openUrlQueue(redis, queueNames());
});

const addAll: Enter = async (entries) => entries.map(() => ({ kind: 'add', delayUntilMs: null }));

function client(enter: Enter, nowMs: () => number = Date.now, chunkSize = 1_000): EnqueueClient {
  return new EnqueueClient({ queue, enter, nowMs, chunkSize });
}

/** A ledger in memory: what the gate does in the real thing. */
function ledger(): Enter & { readonly ended: Set<string> } {
  const known = new Set<string>();
  const ended = new Set<string>();
  const enter: Enter = async (entries) =>
    entries.map(({ id }): EnterDecision => {
      if (known.has(id)) return { kind: 'duplicate', alive: !ended.has(id), delayUntilMs: null };
      known.add(id);
      return { kind: 'add', delayUntilMs: null };
    });
  return Object.assign(enter, { ended });
}

test('answers for each request, in order', async () => {
  const results = await client(ledger()).enqueueBulk([
    { url: 'http://a.test/1' },
    { url: 'nonsense' },
    { url: 'http://a.test/1#again' },
    { url: 'http://a.test/2', priority: 500 },
  ]);
  expect(results.map((result) => result.kind)).toEqual(['created', 'invalid', 'duplicate', 'invalid']);
  expect(results[3]).toMatchObject({ fault: { field: 'priority', value: '500' } });
  expect(await queue.getJobCounts('wait', 'prioritized')).toEqual({ wait: 0, prioritized: 1 });
});

test('what is refused by the gate never reaches the queue', async () => {
  const result = await client(async () => [{ kind: 'refused', reason: 'cancelled' }]).enqueue({
    url: 'http://a.test/',
  });
  expect(result).toMatchObject({ kind: 'refused', reason: 'cancelled' });
  expect(await redis.keys('{holdoff}:urls:j_*')).toEqual([]);
});

test('an addition that was cut short is completed by asking again, and nothing is doubled', async () => {
  const enter = ledger();
  const requests = Array.from({ length: 25 }, (_, index) => ({ url: `http://a.test/${index}` }));
  const cut = new EnqueueClient({
    enter,
    nowMs: Date.now,
    queue: {
      addBulk: async (jobs) => {
        await queue.addBulk(jobs.slice(0, 10));
        throw new Error('connection lost');
      },
    },
  });
  await expect(cut.enqueueBulk(requests)).rejects.toThrow('connection lost');
  expect(await queue.count()).toBe(10);
  const again = await client(enter).enqueueBulk(requests);
  expect(new Set(again.map((result) => result.kind))).toEqual(new Set(['duplicate']));
  expect(await queue.count()).toBe(25);
});

test('a job that ended is not added again, although the queue has forgotten it', async () => {
  const enter = ledger();
  const first = await client(enter).enqueue({ url: 'http://a.test/' });
  if (first.kind !== 'created') throw new Error(first.kind);
  await queue.remove(first.id);
  enter.ended.add(first.id);
  expect(await client(enter).enqueue({ url: 'http://a.test/' })).toEqual({
    kind: 'duplicate',
    id: first.id,
    alive: false,
  });
  expect(await queue.count()).toBe(0);
});

/** Delays each job until its own not_before. */
const byNotBefore: Enter = async (entries) =>
  entries.map(({ job }) => ({ kind: 'add', delayUntilMs: job.notBeforeMs }));

test('the due time is the absolute instant, whatever the clock of this machine says', async () => {
  const dueMs = 1_800_000_000_000;
  for (const [index, skewMs] of [0, 3_600_000, -3_600_000].entries()) {
    const enter: Enter = async () => [{ kind: 'add', delayUntilMs: dueMs }];
    const result = await client(enter, () => dueMs - 60_000 + skewMs).enqueue({
      url: `http://a.test/${index}`,
    });
    if (result.kind !== 'created') throw new Error(result.kind);
    const score = await redis.zscore('{holdoff}:urls:delayed', result.id);
    const expected = skewMs > 60_000 ? null : dueMs;
    expect(score === null ? null : Math.floor(Number(score) / 4_096)).toBe(expected);
  }
});

test('far instants stay delayed: no timer is involved', async () => {
  const notBeforeMs = Date.now() + 30 * 86_400_000;
  await client(byNotBefore).enqueue({ url: 'http://a.test/', notBeforeMs });
  expect(await queue.getDelayedCount()).toBe(1);
});

test('large inputs go in chunks', async () => {
  const sizes: number[] = [];
  const enter: Enter = async (entries) => {
    sizes.push(entries.length);
    return addAll(entries);
  };
  const requests = Array.from({ length: 2_500 }, (_, index) => ({ url: `http://a.test/${index}` }));
  const results = await client(enter).enqueueBulk(requests);
  expect(sizes).toEqual([1_000, 1_000, 500]);
  expect(results.every((result) => result.kind === 'created')).toBe(true);
  expect(await queue.count()).toBe(2_500);
});

test('BullMQ never retries and keeps little: the options of every job say so', async () => {
  const result = await client(addAll).enqueue({ url: 'http://a.test/' });
  if (result.kind !== 'created') throw new Error(result.kind);
  const job = await queue.getJob(result.id);
  expect(job?.opts).toMatchObject({
    attempts: 1,
    removeOnComplete: { count: 1_000 },
    removeOnFail: { count: 1_000 },
  });
});

test('called jobs are promoted; one that is not delayed yet gets more tries and then is left alone', async () => {
  const later = await client(byNotBefore).enqueue({
    url: 'http://a.test/later',
    notBeforeMs: Date.now() + 60_000,
  });
  const already = await client(byNotBefore).enqueue({ url: 'http://a.test/now' });
  if (later.kind !== 'created' || already.kind !== 'created') throw new Error('fixture');
  expect(await promoteCalled(queue, [later.id, already.id, 'j_unknownunknown'], { gapMs: 1 })).toEqual({
    promoted: 1,
    missed: [already.id, 'j_unknownunknown'],
  });
  expect(await queue.getDelayedCount()).toBe(0);
  expect(await queue.count()).toBe(2);
});

/** A queue in which the job is active at first and delayed from the given try on. */
function becomesDelayed(atTry: number) {
  const seen = { promotions: 0 };
  const backend = {
    promote: async () => {
      seen.promotions += 1;
      if (seen.promotions < atTry) throw Object.assign(new Error('not delayed'), { code: -3 });
    },
    isJobInState: async () => seen.promotions < atTry - 1,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the two methods that are used
  return { seen, queue: { getBackend: () => backend } as unknown as UrlQueue };
}

test.each([1, 2, 3, 5])(
  'a job that is still active is promoted once it is delayed (try %i)',
  async (atTry) => {
    const { queue, seen } = becomesDelayed(atTry);
    expect(await promoteCalled(queue, ['j_aaaaaaaa'], { gapMs: 1 })).toEqual({ promoted: 1, missed: [] });
    expect(seen.promotions).toBe(atTry);
  },
);

test('a job that stays active is given up after five tries', async () => {
  const { queue, seen } = becomesDelayed(100);
  expect(await promoteCalled(queue, ['j_aaaaaaaa'], { gapMs: 1 })).toEqual({
    promoted: 0,
    missed: ['j_aaaaaaaa'],
  });
  expect(seen.promotions).toBe(5);
});

test('the events stream stays short', async () => {
  const requests = Array.from({ length: 4_000 }, (_, index) => ({ url: `http://a.test/${index}` }));
  await client(addAll).enqueueBulk(requests);
  // Trimming is approximate: whole nodes of the stream.
  expect(await redis.xlen('{holdoff}:urls:events')).toBeLessThan(1_200);
});
