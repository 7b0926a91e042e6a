import type { Redis } from 'ioredis';
import { canonicalUrl, parseInboxEntry, type QueueNames } from '@holdoff/url-job';

/** Where a URL is that no batch has. */
export type Intake =
  | {
      readonly kind: 'refused';
      readonly atMs: number;
      readonly field: string;
      readonly value: string;
      readonly rule: string;
    }
  | { readonly kind: 'in_the_inbox'; readonly atMs: number; readonly batch: string };

const ENTRIES_PER_TRIP = 1_000;
const ENTRIES_MAX = 20_000;

/**
 * Looks for a URL among the entries that the inbox refused and those that nobody has taken yet, the newest first. Both
 * are looked at within a bound: an older entry is not found.
 */
export async function findInIntake(redis: Redis, names: QueueNames, url: string): Promise<Intake | null> {
  const waits = await newest(redis, names.inbox, (fields, atMs): Intake | null => {
    const entry = parseInboxEntry(fields, atMs);
    if (entry.kind === 'invalid' || !isSame(entry.value.url, url)) return null;
    return { kind: 'in_the_inbox', atMs, batch: entry.value.batch ?? 'default' };
  });
  if (waits !== null) return waits;
  return newest(redis, names.rejected, (fields, atMs): Intake | null => {
    const given = new Map(
      fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? ''] as const] : [])),
    );
    const texts = [given.get('value') ?? '', ...(given.get('raw') ?? '').split(/[\s"]+/)];
    if (!texts.some((text) => text === url || isSame(text, url))) return null;
    const said = (name: string): string => given.get(name) ?? '';
    return { kind: 'refused', atMs, field: said('field'), value: said('value'), rule: said('rule') };
  });
}

async function newest(
  redis: Redis,
  stream: string,
  look: (fields: readonly string[], atMs: number) => Intake | null,
): Promise<Intake | null> {
  let end = '+';
  for (let seen = 0; seen < ENTRIES_MAX; seen += ENTRIES_PER_TRIP) {
    const page = await redis.xrevrange(stream, end, '-', 'COUNT', ENTRIES_PER_TRIP);
    for (const [id, fields] of page) {
      const found = look(fields, Number(id.split('-')[0]));
      if (found !== null) return found;
    }
    const last = page.at(-1)?.[0];
    if (last === undefined || page.length < ENTRIES_PER_TRIP) return null;
    end = `(${last}`;
  }
  return null;
}

function isSame(text: string, url: string): boolean {
  if (!text.includes('://')) return false;
  const canonical = canonicalUrl(text);
  return canonical.kind === 'ok' && canonical.value.url === url;
}
