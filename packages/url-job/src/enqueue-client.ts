import { type UrlEntry, type UrlRequest, enterUrl } from './enter-url.ts';
import type { FieldFault } from './field-fault.ts';
import type { UrlJobId } from './job-id.ts';
import { URL_JOB_NAME, type UrlQueue } from './url-queue.ts';

/**
 * Registers jobs with whoever decides when they may go, before they are added to the queue; one answer for each,
 * in the same order. Must be idempotent: a caller that died half-way asks again.
 */
export type Enter = (entries: readonly UrlEntry[]) => Promise<readonly EnterDecision[]>;

export type EnterDecision =
  /** Absolute, ms since the epoch; null: at once. */
  | { readonly kind: 'add'; readonly delayUntilMs: number | null }
  /** Known already. `alive`: it has not ended, and adding the same id again repairs an addition that was cut short. */
  | { readonly kind: 'duplicate'; readonly alive: boolean; readonly delayUntilMs: number | null }
  | { readonly kind: 'refused'; readonly reason: string };

export type EnqueueResult =
  | { readonly kind: 'created'; readonly id: UrlJobId; readonly delayUntilMs: number | null }
  | { readonly kind: 'duplicate'; readonly id: UrlJobId; readonly alive: boolean }
  | { readonly kind: 'refused'; readonly id: UrlJobId; readonly reason: string }
  | { readonly kind: 'invalid'; readonly fault: FieldFault };

export interface EnqueueClientOptions {
  readonly queue: Pick<UrlQueue, 'addBulk'>;
  readonly enter: Enter;
  /** Wall clock, ms since the epoch. */
  readonly nowMs: () => number;
  /** Jobs in one trip to Redis, 1 to 1,000. */
  readonly chunkSize?: number;
}

const CHUNK_SIZE = 1_000;

/**
 * Adds URLs to the queue. Adding is not a transaction: when Redis fails half-way the call rejects, and calling
 * again with the same requests is the safe repair, because ids are stable and a known id changes nothing.
 */
export class EnqueueClient {
  readonly #options: EnqueueClientOptions;
  readonly #chunkSize: number;

  constructor(options: EnqueueClientOptions) {
    this.#options = options;
    this.#chunkSize = Math.min(CHUNK_SIZE, Math.max(1, options.chunkSize ?? CHUNK_SIZE));
  }

  async enqueue(request: UrlRequest): Promise<EnqueueResult> {
    const [result] = await this.enqueueBulk([request]);
    if (result === undefined) throw new Error('one request must give one result');
    return result;
  }

  /** One result for each request, in the same order. */
  async enqueueBulk(requests: readonly UrlRequest[]): Promise<readonly EnqueueResult[]> {
    const results: EnqueueResult[] = [];
    for (let start = 0; start < requests.length; start += this.#chunkSize) {
      results.push(...(await this.#enqueueChunk(requests.slice(start, start + this.#chunkSize))));
    }
    return results;
  }

  async #enqueueChunk(requests: readonly UrlRequest[]): Promise<readonly EnqueueResult[]> {
    const nowMs = this.#options.nowMs();
    const parsed = requests.map((request) => enterUrl(request, nowMs));
    const distinct = new Map<UrlJobId, UrlEntry>();
    for (const entry of parsed) {
      if (entry.kind === 'ok' && !distinct.has(entry.value.id)) distinct.set(entry.value.id, entry.value);
    }
    const decided = await this.#add([...distinct.values()], nowMs);

    const answered = new Set<UrlJobId>();
    return parsed.map((entry): EnqueueResult => {
      if (entry.kind === 'invalid') return entry;
      const { id } = entry.value;
      const decision = decided.get(id);
      if (decision === undefined) throw new Error(`no decision for ${id}`);
      if (decision.kind === 'refused') return { kind: 'refused', id, reason: decision.reason };
      const again = answered.has(id);
      answered.add(id);
      if (decision.kind === 'duplicate') return { kind: 'duplicate', id, alive: decision.alive };
      return again
        ? { kind: 'duplicate', id, alive: true }
        : { kind: 'created', id, delayUntilMs: decision.delayUntilMs };
    });
  }

  async #add(entries: readonly UrlEntry[], nowMs: number): Promise<ReadonlyMap<UrlJobId, EnterDecision>> {
    if (entries.length === 0) return new Map();
    const decisions = await this.#options.enter(entries);
    if (decisions.length !== entries.length) {
      throw new Error(`${decisions.length} decisions for ${entries.length} jobs`);
    }
    const decided = new Map<UrlJobId, EnterDecision>();
    const additions: Parameters<UrlQueue['addBulk']>[0] = [];
    for (const [index, entry] of entries.entries()) {
      const decision = decisions[index];
      if (decision === undefined) continue;
      decided.set(entry.id, decision);
      if (decision.kind === 'refused' || (decision.kind === 'duplicate' && !decision.alive)) continue;
      additions.push({
        name: URL_JOB_NAME,
        data: entry.job,
        opts: {
          jobId: entry.id,
          priority: entry.job.priority,
          // The queue computes due = timestamp + delay; both from one clock, so that this clock's error cancels out.
          timestamp: nowMs,
          delay: Math.max(0, Math.ceil(decision.delayUntilMs ?? 0) - nowMs),
        },
      });
    }
    if (additions.length > 0) await this.#options.queue.addBulk(additions);
    return decided;
  }
}
