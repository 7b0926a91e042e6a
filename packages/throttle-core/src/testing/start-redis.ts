import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import type { Redis } from 'ioredis';
import { connectGate, gateReady } from '../redis/connection.ts';

/** A Redis for one test file: the one that REDIS_URL names, or one of our own. */
export interface TestRedis {
  readonly redis: Redis;
  readonly url: string;
  /** null: the server is somebody else's. */
  readonly server: LocalRedis | null;
  /** A deployment name that no other test uses. */
  readonly deployment: () => string;
  readonly stop: () => Promise<void>;
}

export async function startTestRedis(): Promise<TestRedis> {
  const given = process.env['REDIS_URL'];
  const server =
    given === undefined
      ? await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false })
      : null;
  const url = given ?? server?.url ?? '';
  const redis = connectGate({ url, commandDeadlineMs: 10_000 });
  await gateReady(redis, 10_000);
  const run = `${process.pid}-${Math.floor(performance.timeOrigin)}`;
  let count = 0;
  return {
    redis,
    url,
    server,
    deployment: () => {
      count += 1;
      return `t${run}-${count}`;
    },
    stop: async () => {
      redis.disconnect();
      await server?.stop();
    },
  };
}
