import type { Logger } from '@holdoff/service-runtime';
import {
  type EnqueueClient,
  type EnqueueResult,
  INBOX_ENTRY_BYTES_MAX,
  type UrlRequest,
  parseInboxEntry,
} from '@holdoff/url-job';
import {
  type InboxEntry,
  type InboxPage,
  type InboxStream,
  type Rejection,
  entryMs,
} from './inbox-stream.ts';
import { Pause } from '../pause.ts';

/** What became of entries; for metrics and tests. */
export interface InboxEvents {
  accepted(count: number): void;
  duplicate(count: number): void;
  rejected(field: string): void;
  failed(error: unknown): void;
}

export interface InboxConsumerOptions {
  readonly stream: Pick<InboxStream, 'read' | 'acknowledge' | 'reject'>;
  readonly client: Pick<EnqueueClient, 'enqueueBulk'>;
  readonly logger: Logger;
  readonly events: InboxEvents;
  /** Entries taken at a time: what one process holds in memory, and what a crash has to do again. */
  readonly batchMax: number;
  /** Why nothing may be taken in at the moment, or null. */
  readonly pressure: () => string | null;
}

const IDLE_MS_FIRST = 10;
const IDLE_MS_MAX = 200;
const FAULT_MS_FIRST = 100;
const FAULT_MS_MAX = 5_000;
const PRESSURE_MS = 1_000;
/** After this many deliveries an entry that no attempt could enter is given up as rejected. */
const DELIVERIES_MAX = 10;
/** An entry's own time is believed from 90 days back (the longest not_before) to a minute ahead. */
const OWN_TIME_BACK_MS = 90 * 86_400_000;
const OWN_TIME_AHEAD_MS = 60_000;

/**
 * Moves entries from the inbox into the queue, one bounded batch after another: read → check → enqueue → record
 * the refused → acknowledge. The order makes it safe to die anywhere: an entry is acknowledged only when the
 * queue has its job, and whoever takes it over does it again under the same id, which changes nothing.
 */
export class InboxConsumer {
  readonly #options: InboxConsumerOptions;
  readonly #pause = new Pause();
  #running: Promise<void> | undefined;
  /** Taken and not done with: a fault does not make it take more. */
  #inHand: InboxPage | undefined;
  #lastTurnAt = performance.now();

  constructor(options: InboxConsumerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when the batch in hand is done with. */
  async stop(): Promise<void> {
    this.#pause.end();
    await this.#running;
  }

  /** Time since the loop last came round, ms. */
  get idleMs(): number {
    return performance.now() - this.#lastTurnAt;
  }

  async #run(): Promise<void> {
    let idleMs = IDLE_MS_FIRST;
    let faultMs = FAULT_MS_FIRST;
    while (!this.#pause.ended) {
      this.#lastTurnAt = performance.now();
      try {
        if (this.#options.pressure() !== null) {
          await this.#pause.for(PRESSURE_MS);
          continue;
        }
        const taken = await this.takeBatch();
        faultMs = FAULT_MS_FIRST;
        idleMs = taken > 0 ? IDLE_MS_FIRST : Math.min(IDLE_MS_MAX, idleMs * 2);
        if (taken === 0) await this.#pause.for(idleMs);
      } catch (error) {
        this.#options.events.failed(error);
        this.#options.logger.warn('inbox batch interrupted; it will be done again', {
          error,
          retryInMs: faultMs,
        });
        await this.#pause.for(faultMs);
        faultMs = Math.min(FAULT_MS_MAX, faultMs * 2);
      }
    }
  }

  /** One turn of the loop. Resolves to the number of entries taken. */
  async takeBatch(): Promise<number> {
    const { stream, batchMax } = this.#options;
    this.#inHand ??= await stream.read(batchMax);
    const { entries, nowMs } = this.#inHand;
    if (entries.length > 0) await this.#enter(entries, nowMs);
    this.#inHand = undefined;
    return entries.length;
  }

  async #enter(entries: readonly InboxEntry[], nowMs: number): Promise<void> {
    const { stream, client, events } = this.#options;
    const readable: InboxEntry[] = [];
    const requests: UrlRequest[] = [];
    const rejections: Rejection[] = [];
    for (const entry of entries) {
      const parsed = readEntry(entry, nowMs);
      if (parsed.kind === 'invalid') {
        rejections.push({ entry, ...parsed.fault });
      } else {
        readable.push(entry);
        requests.push(parsed.value);
      }
    }

    const { done, refused } = sortResults(readable, await this.#enqueue(readable, requests, client));
    rejections.push(...refused);
    await stream.reject(rejections);
    await stream.acknowledge([...done.entries, ...rejections.map(({ entry }) => entry)]);
    events.accepted(done.created);
    events.duplicate(done.duplicates);
    for (const { field } of rejections) events.rejected(field);
  }

  /**
   * In bulk; if that fails for another reason than Redis being away, one by one, so that an entry that cannot be
   * entered does not take its neighbours with it. What failed stays pending and comes again, a bounded number of times.
   */
  async #enqueue(
    entries: readonly InboxEntry[],
    requests: readonly UrlRequest[],
    client: Pick<EnqueueClient, 'enqueueBulk'>,
  ): Promise<readonly (EnqueueResult | Left)[]> {
    try {
      return await client.enqueueBulk(requests);
    } catch (error) {
      if (isRedisAway(error)) throw error;
      this.#options.events.failed(error);
      this.#options.logger.error('inbox batch cannot be entered as a whole', {
        error,
        entries: entries.length,
      });
    }
    const results: (EnqueueResult | Left)[] = [];
    for (const [index, request] of requests.entries()) {
      try {
        results.push(...(await client.enqueueBulk([request])));
      } catch (error) {
        if (isRedisAway(error)) throw error;
        const givenUp = (entries[index]?.deliveries ?? 1) >= DELIVERIES_MAX;
        results.push({ kind: 'left', givenUp });
      }
    }
    return results;
  }
}

/** Could not be entered: comes again, or has come too often. */
interface Left {
  readonly kind: 'left';
  readonly givenUp: boolean;
}

function readEntry(entry: InboxEntry, nowMs: number): ReturnType<typeof parseInboxEntry> {
  if (entry.tooLarge) {
    const rule = `must be at most ${INBOX_ENTRY_BYTES_MAX} bytes`;
    return { kind: 'invalid', fault: { field: 'entry', value: `${entry.bytes} bytes`, rule } };
  }
  const ownMs = entryMs(entry.id);
  const believed = ownMs >= nowMs - OWN_TIME_BACK_MS && ownMs <= nowMs + OWN_TIME_AHEAD_MS;
  return parseInboxEntry(entry.fields, believed ? ownMs : nowMs);
}

function sortResults(
  entries: readonly InboxEntry[],
  results: readonly (EnqueueResult | Left)[],
): {
  readonly done: {
    readonly entries: readonly InboxEntry[];
    readonly created: number;
    readonly duplicates: number;
  };
  readonly refused: readonly Rejection[];
} {
  const done: InboxEntry[] = [];
  const refused: Rejection[] = [];
  let created = 0;
  for (const [index, entry] of entries.entries()) {
    const result = results[index];
    if (result === undefined || (result.kind === 'left' && !result.givenUp)) continue;
    switch (result.kind) {
      case 'created':
        created += 1;
        done.push(entry);
        break;
      case 'duplicate':
        done.push(entry);
        break;
      case 'refused':
        refused.push({
          entry,
          field: 'batch',
          value: result.reason,
          rule: `refused by the gate: ${result.reason}`,
        });
        break;
      case 'invalid':
        refused.push({ entry, ...result.fault });
        break;
      case 'left':
        refused.push({
          entry,
          field: 'entry',
          value: `${entry.deliveries} deliveries`,
          rule: 'could not be entered',
        });
        break;
    }
  }
  return { done: { entries: done, created, duplicates: done.length - created }, refused };
}

/** Redis is not there or cannot take anything now: the batch as a whole comes again, nothing is wrong with it. */
function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code: unknown = Reflect.get(error, 'code');
  if (code === 'GATE_UNAVAILABLE' || (typeof code === 'string' && /^E[A-Z]+$/.test(code))) return true;
  if (error.name === 'ReplyError') {
    return /^(?:OOM|LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|BUSY|MISCONF|NOAUTH|WRONGPASS)\b/.test(
      error.message,
    );
  }
  return /connection is closed|command timed out|max retries/i.test(error.message);
}
