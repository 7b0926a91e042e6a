import type { Redis } from 'ioredis';
import { readStoppedEntry, type StoppedEntry } from '@holdoff/url-job';

export interface StoppedFilter {
  readonly batch: string | null;
  readonly reason: string | null;
  readonly host: string | null;
}

const ENTRIES_PER_TRIP = 1_000;

/**
 * The stopped jobs that match, newest first, each once: of a job that was recorded more than once the newest entry
 * counts. Reads the bounded stream in pages; what is recorded meanwhile is not seen.
 */
export async function* readStopped(
  redis: Pick<Redis, 'xrevrange'>,
  stream: string,
  filter: StoppedFilter,
): AsyncGenerator<StoppedEntry> {
  const seen = new Set<string>();
  let end = '+';
  for (;;) {
    const page = await redis.xrevrange(stream, end, '-', 'COUNT', ENTRIES_PER_TRIP);
    for (const [, fields] of page) {
      const entry = readStoppedEntry(fields);
      if (entry === undefined || seen.has(entry.job)) continue;
      seen.add(entry.job);
      if (matches(entry, filter)) yield entry;
    }
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < ENTRIES_PER_TRIP) return;
    end = `(${last}`;
  }
}

function matches(entry: StoppedEntry, { batch, reason, host }: StoppedFilter): boolean {
  return (
    (batch === null || entry.batch === batch) &&
    (reason === null || entry.reason === reason) &&
    (host === null || entry.host === host)
  );
}
