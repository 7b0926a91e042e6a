import { Redis } from 'ioredis';
import type { Gate } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady } from '@holdoff/throttle-core/redis';
import { type QueueNames, type UrlQueue, openUrlQueue, queueNames } from '@holdoff/url-job';
import type { SchedulerConfig } from './config.ts';

/** Longer than a worker's: entering a few hundred jobs is one script call. */
const DECISION_MS_MAX = 5_000;
const READY_WITHIN_MS = 10_000;

/** The connections of a scheduler: one for the gate, which fails at once, and one for inbox and queue. */
export interface Stores {
  readonly names: QueueNames;
  readonly gate: Gate;
  readonly gateRedis: Redis;
  readonly redis: Redis;
  readonly queue: UrlQueue;
  close(): Promise<void>;
}

/** @throws Error when the server does not answer within ten seconds */
export async function openStores(
  config: Pick<SchedulerConfig, 'REDIS_URL' | 'HOLDOFF_DEPLOYMENT'>,
  onError: (error: unknown) => void,
): Promise<Stores> {
  const names = queueNames(config.HOLDOFF_DEPLOYMENT);
  const gateRedis = connectGate({ url: config.REDIS_URL, commandDeadlineMs: DECISION_MS_MAX });
  gateRedis.on('error', onError);
  try {
    await gateReady(gateRedis, READY_WITHIN_MS);
  } catch (error) {
    gateRedis.disconnect();
    const { hostname, port } = new URL(config.REDIS_URL);
    const reason = error instanceof Error ? error.message : 'unknown';
    throw new Error(`Redis at ${hostname}:${port === '' ? '6379' : port}: ${reason}`, { cause: error });
  }
  // Commands wait for a lost connection to come back. One that was sent and not answered is sent again: everything
  // that is sent here may run twice.
  const redis = new Redis(config.REDIS_URL, { maxRetriesPerRequest: null });
  redis.on('error', onError);
  const queue = openUrlQueue(redis, names);
  queue.on('error', onError);
  return {
    names,
    gate: createRedisGate({ redis: gateRedis, deployment: config.HOLDOFF_DEPLOYMENT }),
    gateRedis,
    redis,
    queue,
    close: async () => {
      redis.disconnect();
      gateRedis.disconnect();
      await queue.close();
    },
  };
}
