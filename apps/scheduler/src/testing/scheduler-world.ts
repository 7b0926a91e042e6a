import { Redis } from 'ioredis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { type Gate, type HostKey, type JobId, PRESETS } from '@holdoff/throttle-core';
import { createRedisGate } from '@holdoff/throttle-core/redis';
import {
  EnqueueClient,
  type EnqueueResult,
  type QueueNames,
  type UrlQueue,
  type UrlRequest,
  openUrlQueue,
  queueNames,
} from '@holdoff/url-job';
import { enterThroughGate } from '../enter-through-gate.ts';

/** A real Redis with the real gate and queue, empty; for tests of what a scheduler does to them. */
export interface SchedulerWorld {
  readonly server: LocalRedis;
  readonly redis: Redis;
  readonly gate: Gate;
  readonly queue: UrlQueue;
  readonly names: QueueNames;
  enqueue(requests: readonly UrlRequest[]): Promise<readonly EnqueueResult[]>;
  /** Enqueues one URL and gives its id. */
  enter(request: UrlRequest): Promise<JobId>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(searchPath: string): Promise<SchedulerWorld> {
  const server = await startLocalRedis({ searchPath, persistent: false });
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  const names = queueNames();
  let queue = openUrlQueue(redis, names);
  const gate = createRedisGate({ redis });
  const enter = enterThroughGate(gate, {
    forHost: (hostname) => ({ hostKey: hostname as HostKey, policy: PRESETS.balanced }),
    forBatch: () => ({
      policy: PRESETS.balanced,
      spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
    }),
  });
  const enqueue: SchedulerWorld['enqueue'] = (requests) =>
    new EnqueueClient({ queue, enter, nowMs: Date.now }).enqueueBulk(requests);
  return {
    server,
    redis,
    gate,
    names,
    enqueue,
    get queue() {
      return queue;
    },
    enter: async (request) => {
      const [result] = await enqueue([request]);
      if (result?.kind !== 'created') throw new Error(`not created: ${JSON.stringify(result)}`);
      return result.id as string as JobId;
    },
    empty: async () => {
      await redis.flushall();
      await queue.close();
      queue = openUrlQueue(redis, names);
      await queue.waitUntilReady();
    },
    close: async () => {
      await queue.close();
      redis.disconnect();
      await server.stop();
    },
  };
}
