import type { Redis } from 'ioredis';
import { INBOX_ENTRY_BYTES_MAX, INBOX_FIELDS, type QueueNames, showValue } from '@holdoff/url-job';
import { RedisScript, asList, asNumber, asText } from '../scripts/redis-script.ts';

export interface InboxEntry {
  readonly id: string;
  /** 1: never delivered before. */
  readonly deliveries: number;
  readonly bytes: number;
  /** Only the beginning of `fields` is here. */
  readonly tooLarge: boolean;
  /** name, value, name, value … */
  readonly fields: readonly string[];
}

export interface InboxPage {
  readonly entries: readonly InboxEntry[];
  readonly nowMs: number;
}

export interface InboxStatus {
  /** Entries in the stream, taken or not. */
  readonly entries: number;
  /** Taken and not acknowledged. */
  readonly pending: number;
  /** Age of the oldest entry by its id; 0: none. */
  readonly oldestMs: number;
}

export interface Rejection {
  readonly entry: InboxEntry;
  readonly field: string;
  readonly value: string;
  readonly rule: string;
}

export interface InboxStreamOptions {
  readonly redis: Redis;
  readonly names: QueueNames;
  /** Unique for each process. */
  readonly consumer: string;
  /** A pending entry that nobody touched for this long is taken over, ms. */
  readonly claimIdleMs: number;
  readonly rejectedKept: number;
  /** A consumer without entries that was silent for this long is removed; default an hour, ms. */
  readonly consumerIdleMs?: number;
}

const FIELDS_MAX = INBOX_FIELDS.length * 2;
const CONSUMER_IDLE_MS = 3_600_000;
const RAW_CHARACTERS_MAX = 500;

const readInbox = new RedisScript('read-inbox');
const acknowledgeInbox = new RedisScript('acknowledge-inbox');
const inspectInbox = new RedisScript('inspect-inbox');
const rejectEntries = new RedisScript('reject-entries');

/**
 * The inbox as one consumer of its group sees it. Reading does not block: a bounded page is taken by a script,
 * and when there is none the caller asks again a little later. A blocking read would hand over entries of any
 * size, and is the kind of wait that sleeps through a lost connection.
 */
export class InboxStream {
  readonly #options: InboxStreamOptions;
  #claimCursor = '0-0';

  constructor(options: InboxStreamOptions) {
    this.#options = options;
  }

  /** Takes up to `entriesMax`, left-behind ones first. They stay pending until acknowledged. */
  async read(entriesMax: number): Promise<InboxPage> {
    const { redis, names, consumer, claimIdleMs } = this.#options;
    const reply = asList(
      await readInbox.run(
        redis,
        [names.inbox],
        [
          names.inboxGroup,
          consumer,
          entriesMax,
          claimIdleMs,
          INBOX_ENTRY_BYTES_MAX,
          FIELDS_MAX,
          this.#claimCursor,
        ],
      ),
    );
    this.#claimCursor = asText(reply[1]);
    return {
      nowMs: asNumber(reply[0]),
      entries: asList(reply[2]).map((item) => {
        const entry = asList(item);
        return {
          id: asText(entry[0]),
          deliveries: asNumber(entry[1]),
          bytes: asNumber(entry[2]),
          tooLarge: asNumber(entry[3]) === 1,
          fields: asList(entry[4]).map(asText),
        };
      }),
    };
  }

  async acknowledge(entries: readonly InboxEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { redis, names } = this.#options;
    await acknowledgeInbox.run(redis, [names.inbox], [names.inboxGroup, ...entries.map(({ id }) => id)]);
  }

  /** Keeps refused entries for their producers to see, with the reason and the beginning of what they sent. */
  async reject(rejections: readonly Rejection[]): Promise<void> {
    if (rejections.length === 0) return;
    const { redis, names, rejectedKept } = this.#options;
    const args = rejections.flatMap(({ entry, field, value, rule }) => [
      entry.deliveries > 1 ? '1' : '0',
      entry.id,
      field,
      value,
      rule,
      showRaw(entry),
    ]);
    await rejectEntries.run(redis, [names.rejected], [rejectedKept, ...args]);
  }

  /** Also removes consumers of processes that are long gone. */
  async inspect(): Promise<InboxStatus> {
    const { redis, names, consumerIdleMs = CONSUMER_IDLE_MS } = this.#options;
    const reply = asList(await inspectInbox.run(redis, [names.inbox], [names.inboxGroup, consumerIdleMs]));
    const oldest = asText(reply[3]);
    return {
      entries: asNumber(reply[1]),
      pending: asNumber(reply[2]),
      oldestMs: oldest === '' ? 0 : Math.max(0, asNumber(reply[0]) - entryMs(oldest)),
    };
  }
}

/** The instant that an entry's id carries: Redis' clock when the producer left the id to it. */
export function entryMs(id: string): number {
  return Number(id.split('-', 1)[0]);
}

function showRaw({ fields, tooLarge, bytes }: InboxEntry): string {
  let raw = '';
  for (let index = 0; index < fields.length && raw.length < RAW_CHARACTERS_MAX; index += 2) {
    const [name, value] = [fields[index] ?? '', fields[index + 1] ?? ''];
    raw += `${raw === '' ? '' : ' '}${showValue(name)} ${showValue(value)}`;
  }
  const shown = raw.length > RAW_CHARACTERS_MAX ? `${raw.slice(0, RAW_CHARACTERS_MAX)}…` : raw;
  return tooLarge ? `${shown} (${bytes} bytes)` : shown;
}
