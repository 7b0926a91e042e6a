import { Redis } from 'ioredis';

/** What a bench asks of the store, over a connection of its own. */
export interface Store {
  readonly redis: Redis;
  /** User and system time of the server, s. */
  cpuSeconds(): Promise<number>;
  figures(): Promise<{ readonly commands: number; readonly dataBytes: number }>;
  close(): Promise<void>;
}

export async function openStore(url: string): Promise<Store> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1, lazyConnect: true });
  redis.on('error', () => undefined);
  await redis.connect();
  const number = async (section: string, field: string): Promise<number> => {
    const found = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info(section))?.[1];
    if (found === undefined) throw new Error(`Redis tells no ${field}`);
    return Number(found);
  };
  return {
    redis,
    cpuSeconds: async () => (await number('cpu', 'used_cpu_user')) + (await number('cpu', 'used_cpu_sys')),
    figures: async () => ({
      commands: await number('stats', 'total_commands_processed'),
      dataBytes: await number('memory', 'used_memory'),
    }),
    close: async () => {
      await redis.quit().catch(() => redis.disconnect());
    },
  };
}
