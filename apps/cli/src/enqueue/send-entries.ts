import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { ReadEntry } from './read-entries.ts';

export interface SendOptions {
  readonly redis: Pick<Redis, 'pipeline' | 'xlen'>;
  readonly inbox: string;
  /** From this length of the inbox on, sending waits until schedulers have taken some. */
  readonly inboxMax: number;
  /** How long to wait for an inbox that does not get shorter, ms. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly events: SendEvents;
}

interface SendEvents {
  sent(count: number): void;
  refused(line: Extract<ReadEntry, { readonly kind: 'refused' }>): void;
  /** The inbox is full; null: it is not any more. */
  waiting(entries: number | null): void;
}

export class InboxStuck extends Error {
  readonly code = 'INBOX_STUCK';

  constructor(entries: number) {
    super(`the inbox has ${entries} entries and nobody takes any: is a scheduler running?`);
    this.name = 'InboxStuck';
  }
}

const ENTRIES_PER_TRIP = 1_000;
const BYTES_PER_TRIP = 1_048_576;
const LOOK_EVERY_MS = 200;

/**
 * Sends entries to the inbox in bounded trips, one after another. Holds one trip in memory, whatever the size of
 * the list, and waits while the inbox is full. Sending an entry twice changes nothing.
 */
export async function sendEntries(entries: AsyncIterable<ReadEntry>, options: SendOptions): Promise<void> {
  let trip: (readonly string[])[] = [];
  let bytes = 0;
  for await (const entry of entries) {
    if (options.signal.aborted) break;
    if (entry.kind === 'refused') {
      options.events.refused(entry);
      continue;
    }
    trip.push(entry.fields);
    for (const text of entry.fields) bytes += text.length;
    if (trip.length < ENTRIES_PER_TRIP && bytes < BYTES_PER_TRIP) continue;
    await sendTrip(trip, options);
    trip = [];
    bytes = 0;
  }
  await sendTrip(trip, options);
}

async function sendTrip(trip: readonly (readonly string[])[], options: SendOptions): Promise<void> {
  if (trip.length === 0) return;
  await untilRoom(options);
  if (options.signal.aborted) return;
  const pipeline = options.redis.pipeline();
  for (const fields of trip) pipeline.xadd(options.inbox, '*', ...fields);
  for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error;
  options.events.sent(trip.length);
}

async function untilRoom({ redis, inbox, inboxMax, patienceMs, signal, events }: SendOptions): Promise<void> {
  let shortest = Number.POSITIVE_INFINITY;
  let shrankAt = performance.now();
  for (;;) {
    const length = await redis.xlen(inbox);
    if (length < inboxMax || signal.aborted) break;
    if (length < shortest) {
      shortest = length;
      shrankAt = performance.now();
    } else if (performance.now() - shrankAt > patienceMs) {
      throw new InboxStuck(length);
    }
    events.waiting(length);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  if (shortest !== Number.POSITIVE_INFINITY) events.waiting(null);
}
