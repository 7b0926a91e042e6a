import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** A key as docs/redis-keys.md lists it. */
export interface DocumentedKey {
  /** With its placeholders: `{holdoff}:job:JOB`. */
  readonly key: string;
  readonly type: string;
  readonly pattern: RegExp;
}

const PAGE = new URL('../../docs/redis-keys.md', import.meta.url);
/** The queue library's own: the URL queue and the queue of recurring work. */
const QUEUE_KEYS = /^\{holdoff\}:(urls|schedules):/;
const KEYS_AT_ONCE = 1_000;

export const DOCUMENTED_KEYS: readonly DocumentedKey[] = readFileSync(PAGE, 'utf8')
  .split('\n')
  .filter((line) => /^\| `\{?holdoff/.test(line))
  .map((line) => {
    const [, key = '', type = ''] = line.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    const escaped = key.replaceAll(/[{}]/g, String.raw`\$&`).replaceAll(/:[A-Z]+(?=:|$)/g, ':.+');
    return { key, type, pattern: new RegExp(`^${escaped}$`, 's') };
  });

/** Every key in Redis by its entry on the page. A name or type that is not on it stands for itself. */
export async function keysByEntry(redis: Redis): Promise<{
  readonly documented: ReadonlySet<string>;
  readonly unknown: readonly string[];
}> {
  const documented = new Set<string>();
  const unknown: string[] = [];
  for await (const keys of redis.scanStream({ count: KEYS_AT_ONCE })) {
    for (const name of (keys as string[]).filter((key) => !QUEUE_KEYS.test(key))) {
      const type = await redis.type(name);
      // Gone since it was listed.
      if (type === 'none') continue;
      const entry = DOCUMENTED_KEYS.find((one) => one.pattern.test(name) && one.type === type);
      if (entry === undefined) unknown.push(`${name} (${type})`);
      else documented.add(entry.key);
    }
  }
  return { documented, unknown };
}
