import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { ProxyPool } from './choose-exit.ts';
import type { QueueNames } from './queue-names.ts';

export type ProxyPools = ReadonlyMap<string, ProxyPool>;

const schema = z.object({
  proxies: z.array(z.string().min(1).max(64)).min(1).max(1_000),
  sticky: z.enum(['host', 'job', 'none']),
});

/**
 * Tells the fleet which exits there are, names only: where a policy limits each exit by itself, whoever enters a job or
 * asks about a host must know them. All workers have the same pools; the last one that started is believed.
 */
export async function publishProxyPools(
  redis: Redis,
  { proxyPools }: Pick<QueueNames, 'proxyPools'>,
  pools: ProxyPools,
): Promise<void> {
  const transaction = redis.multi().del(proxyPools);
  for (const [name, pool] of pools) transaction.hset(proxyPools, name, JSON.stringify(pool));
  await transaction.exec();
}

/** What was published last. An entry that cannot be read is left out: its jobs are entered under their host. */
export async function knownProxyPools(
  redis: Redis,
  { proxyPools }: Pick<QueueNames, 'proxyPools'>,
): Promise<ProxyPools> {
  const pools = new Map<string, ProxyPool>();
  for (const [name, text] of Object.entries(await redis.hgetall(proxyPools))) {
    const pool = schema.safeParse(parse(text));
    if (pool.success) pools.set(name, pool.data);
  }
  return pools;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
