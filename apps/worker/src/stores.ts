import { Redis } from 'ioredis';
import type { Gate } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady } from '@holdoff/throttle-core/redis';
import { openUrlQueue, type QueueNames, queueNames, type UrlQueue } from '@holdoff/url-job';
import type { WorkerConfig } from './config.ts';

/** An admission that takes longer counts as unavailable. */
const DECISION_MS_MAX = 2_000;
const READY_WITHIN_MS = 10_000;

/** The connections of a worker: one for decisions, which fails at once, and one for the queue, which waits. */
export interface Stores {
  readonly names: QueueNames;
  readonly gate: Gate;
  readonly gateRedis: Redis;
  readonly queueRedis: Redis;
  readonly queue: UrlQueue;
  /** What is wrong with the gate's connection; null: nothing. */
  readonly reachable: () => Promise<string | null>;
  close(): Promise<void>;
}

/** @throws Error naming the server when it does not answer within ten seconds. */
export async function openStores(
  config: Pick<WorkerConfig, 'REDIS_URL' | 'HOLDOFF_DEPLOYMENT'>,
): Promise<Stores> {
  const names = queueNames(config.HOLDOFF_DEPLOYMENT);
  const gateRedis = connectGate({ url: config.REDIS_URL, commandDeadlineMs: DECISION_MS_MAX });
  // Losing the connection is an ordinary event here: it shows in readiness and in what each command returns.
  gateRedis.on('error', () => undefined);
  try {
    await gateReady(gateRedis, READY_WITHIN_MS);
  } catch (error) {
    gateRedis.disconnect();
    throw error;
  }
  const queueRedis = new Redis(config.REDIS_URL, { maxRetriesPerRequest: null });
  queueRedis.on('error', () => undefined);
  const queue = openUrlQueue(queueRedis, names);
  queue.on('error', () => undefined);
  const gate = createRedisGate({ redis: gateRedis, deployment: config.HOLDOFF_DEPLOYMENT });
  return {
    names,
    gate,
    gateRedis,
    queueRedis,
    queue,
    reachable: () =>
      gate.now().then(
        () => null,
        () => 'Redis does not answer',
      ),
    async close() {
      await queue.close();
      queueRedis.disconnect();
      gateRedis.disconnect();
    },
  };
}
