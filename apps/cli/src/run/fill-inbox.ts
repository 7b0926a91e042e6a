import type { Redis } from 'ioredis';
import type { QueueNames } from '@holdoff/url-job';

const ENTRIES_PER_TRIP = 1_000;

/**
 * Adds URLs to the inbox of the schedulers, in trips of a thousand. Adding a URL of a batch twice changes nothing.
 * Returns the id of the last entry; null: there is none.
 */
export async function fillInbox(
  redis: Redis,
  names: QueueNames,
  batch: string,
  urls: readonly string[],
  added: (count: number) => void,
): Promise<string | null> {
  let last: string | null = null;
  for (let start = 0; start < urls.length; start += ENTRIES_PER_TRIP) {
    const part = urls.slice(start, start + ENTRIES_PER_TRIP);
    const pipeline = redis.pipeline();
    for (const url of part) pipeline.xadd(names.inbox, '*', 'url', url, 'batch', batch);
    for (const [error, id] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      last = String(id);
    }
    added(part.length);
  }
  return last;
}
