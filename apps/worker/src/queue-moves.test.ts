import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { queueMoves } from './queue-moves.ts';
import type { Stores } from './stores.ts';
import { sampleJob } from './testing/sample-attempt.ts';

let store: LocalRedis;
let queueRedis: Redis;
let queue: Queue;
let worker: Worker;

beforeAll(async () => {
  store = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  queueRedis = new Redis(store.url, { maxRetriesPerRequest: null });
  queue = new Queue('moves', { connection: queueRedis });
  worker = new Worker('moves', null, { connection: queueRedis });
});
afterAll(async () => {
  await worker.close();
  await queue.close();
  queueRedis.disconnect();
  await store.stop();
});

test('a job goes on with its new data only where its lock is ours', async () => {
  const moves = queueMoves({ queue, queueRedis } as unknown as Pick<Stores, 'queue' | 'queueRedis'>);
  const [before, after] = [sampleJob({ priority: 1 }), sampleJob({ priority: 2 })];
  const { id = '' } = await queue.add('url', before);
  await worker.getNextJob('ours');
  const untilMs = (await moves.nowMs()) + 60_000;

  await expect(moves.moveToDelayed(id, untilMs, 'not ours', after)).rejects.toThrow(/lock/i);
  expect(await queue.getJob(id)).toMatchObject({ data: before });
  expect(await queue.getJobState(id)).toBe('active');

  await moves.moveToDelayed(id, untilMs, 'ours', after);
  expect(await queue.getJob(id)).toMatchObject({ data: after });
  expect(await queue.getJobState(id)).toBe('delayed');
});
