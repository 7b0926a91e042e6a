import type { Redis } from 'ioredis';
import { inspectRedis } from '@holdoff/service-runtime';
import type { Gate } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady, publishPolicy } from '@holdoff/throttle-core/redis';
import { redactText } from '@holdoff/service-runtime';
import { RunFault, type RunOptions } from './run-options.ts';

const READY_WITHIN_MS = 5_000;
/** This command only looks; it can wait longer than a dispatch may. */
const LOOK_MS_MAX = 10_000;

export interface RunStore {
  readonly url: string;
  readonly redis: Redis;
  readonly gate: Gate;
  close(): void;
}

/** @throws RunFault in one line when the server is away or unfit. */
export async function openRunStore(url: string, deployment: string): Promise<RunStore> {
  const redis = connectGate({ url, commandDeadlineMs: LOOK_MS_MAX });
  redis.on('error', () => undefined);
  try {
    await gateReady(redis, READY_WITHIN_MS);
    const report = await inspectRedis(redis, { clockSkewMsMax: 1_000, wallClockMs: Date.now });
    if (report.problems.length > 0)
      throw new RunFault(`Redis at ${redactText(url)}: ${report.problems.join('; ')}`);
  } catch (error) {
    redis.disconnect();
    if (error instanceof RunFault) throw error;
    throw new RunFault(`no Redis answers at ${redactText(url)}`, error);
  }
  return { url, redis, gate: createRedisGate({ redis, deployment }), close: () => redis.disconnect() };
}

/**
 * Makes the run's policy the fleet's before any process starts. A store of our own keeps nothing of an earlier
 * run's policy; somebody else's Redis keeps its policy unless a file is named.
 */
export async function publishRunPolicy(store: RunStore, options: RunOptions): Promise<void> {
  if (options.policy === null && options.redisUrl !== null) return;
  const { text, name } = options.policy ?? { text: '', name: 'balanced preset' };
  const reply = await publishPolicy(store.redis, { text, name, by: 'holdoff run', tag: options.deployment });
  if (reply.kind === 'refused') throw new RunFault(`the policy ${name} is not valid`);
}
