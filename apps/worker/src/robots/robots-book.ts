import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { PageExchange, PageRequest } from '../fetch-page.ts';
import type { WorkerKeys } from '../worker-keys.ts';
import { decodeRecord, readRobots, type RobotsRecord } from './robots-record.ts';
import { isAllowed, ROBOTS_BYTES_MAX } from './robots-rules.ts';

/** The owner's permission to ignore robots.txt, written in the policy with a reason and an end. */
export interface RobotsOverride {
  readonly reason: string;
  /** From then on robots.txt is obeyed again. */
  readonly untilMs: number;
}

export type RobotsVerdict =
  | {
      readonly kind: 'allowed';
      readonly crawlDelaySeconds: number | null;
      readonly by: 'rules' | 'absent' | 'override';
    }
  | { readonly kind: 'disallowed'; readonly detail: string }
  /** Somebody of the fleet is asking for it right now, or it failed a moment ago: nothing is sent. */
  | { readonly kind: 'pending'; readonly retryInMs: number }
  /** Ask the gate (purpose `robots`), fetch this and tell `learn`. */
  | { readonly kind: 'fetch'; readonly ask: RobotsAsk };

/** One request for a robots.txt, or for the target of its redirect. */
export interface RobotsAsk {
  /** Whose robots.txt it is, whatever the redirects. */
  readonly origin: string;
  readonly url: string;
  readonly hops: number;
  /** Under which the origin is claimed: nobody else's claim is ended or prolonged. */
  readonly claim: string;
}

export interface RobotsBookOptions {
  readonly redis: Pick<Redis, 'get' | 'set' | 'eval'>;
  readonly keys: WorkerKeys;
  /** The name robots.txt files know us by. What is known under another name is not known under this one. */
  readonly productToken: string;
  /** How long rules are used; RFC 9309 §2.4 says 24 h at most. */
  readonly keepMs: number;
  /** How long an unreachable robots.txt stops its origin before it is asked for again. */
  readonly retryMs: number;
  /** How long a worker may take to get permission for a request, and to learn from its answer. */
  readonly claimMs: number;
  readonly monotonicMs: () => number;
}

export const ROBOTS_DEFAULTS = {
  keepMs: 86_400_000,
  retryMs: 600_000,
  claimMs: 45_000,
} as const;

/** Rules used from this process's memory before Redis is asked again. */
const MEMORY_MS = 60_000;
const MEMORY_ORIGINS_MAX = 500;
/** Over all of them: one file may have ten thousands. */
const MEMORY_RULES_MAX = 100_000;
const PENDING_RETRY_MS = 500;
/** An origin whose robots.txt fails this often in a row allows nothing until the record ends. */
const UNREACHABLE_TRIES_MAX = 5;
/** Before the second try; doubled for each later one. */
const UNREACHABLE_PAUSE_MS = 1_000;

/** KEYS claim. ARGV whose claim it must be, its new value ('': none), ms. */
const CHANGE_CLAIM = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/** What the fleet knows of robots.txt files, one per origin. Fetches nothing itself: requests go through the gate. */
export class RobotsBook {
  readonly #options: RobotsBookOptions;
  readonly #memory = new Map<string, { readonly record: RobotsRecord; readonly untilMs: number }>();

  #memoryRules = 0;

  constructor(options: RobotsBookOptions) {
    if (options.keepMs > 86_400_000) throw new Error('robots.txt may be kept for 24 hours at most');
    this.#options = options;
  }

  /** May this URL be fetched? `worker`: who asks, for the claim. `nowMs`: the gate's clock, for the override. */
  async check(
    url: string,
    override: RobotsOverride | null,
    nowMs: number,
    worker: string,
  ): Promise<RobotsVerdict> {
    if (override !== null && nowMs < override.untilMs) {
      return { kind: 'allowed', crawlDelaySeconds: null, by: 'override' };
    }
    const target = new URL(url);
    const known = await this.#recall(target.origin);
    if (known === undefined) return this.#claim(target.origin, worker);
    switch (known.kind) {
      case 'absent':
        return { kind: 'allowed', crawlDelaySeconds: null, by: 'absent' };
      case 'rules':
        return isAllowed(known.rules, target)
          ? { kind: 'allowed', crawlDelaySeconds: known.crawlDelaySeconds, by: 'rules' }
          : { kind: 'disallowed', detail: 'robots.txt does not allow this URL' };
      case 'unreachable':
        return known.tries < UNREACHABLE_TRIES_MAX
          ? this.#claim(target.origin, worker)
          : {
              kind: 'disallowed',
              detail: `robots.txt cannot be read, so nothing is allowed: ${known.detail}`,
            };
    }
  }

  /**
   * Takes the answer to an `ask`. The reply is the next request (a redirect, which passes the gate of its own
   * host), or null: `check` now knows, or will ask anew.
   */
  async learn(ask: RobotsAsk, exchange: PageExchange): Promise<RobotsAsk | null> {
    const { redis, keys, productToken, keepMs, retryMs } = this.#options;
    const reading = readRobots(exchange, ask.hops, productToken);
    switch (reading.kind) {
      case 'hop':
        return { ...ask, url: reading.url, hops: ask.hops + 1 };
      case 'record':
        if (reading.record.kind === 'unreachable') return this.#failed(ask, reading.record, retryMs);
        await redis.set(keys.robots(ask.origin, productToken), JSON.stringify(reading.record), 'PX', keepMs);
        this.#remember(ask.origin, reading.record, keepMs);
        break;
      case 'same_fate':
        // For this worker and this moment only: the page is asked for and ends for the same reason.
        this.#remember(ask.origin, { kind: 'absent', status: 0 }, PENDING_RETRY_MS);
        break;
      case 'unknown':
        break;
    }
    await this.giveUp(ask);
    return null;
  }

  /** A redirect led where nothing may be fetched from: nobody can say what the file says. */
  async learnRefused(ask: RobotsAsk, detail: string): Promise<void> {
    await this.#failed(ask, { kind: 'unreachable', detail, tries: 1 }, this.#options.retryMs);
  }

  /** Before a request that may take `forMs`: nobody else shall ask meanwhile. */
  async keepClaim(ask: RobotsAsk, forMs: number): Promise<void> {
    await this.#changeClaim(ask, ask.claim, Math.ceil(forMs) + this.#options.claimMs);
  }

  /** Counts the failure; the claim stays for a growing while, so that nobody asks again at once. */
  async #failed(
    ask: RobotsAsk,
    record: Extract<RobotsRecord, { kind: 'unreachable' }>,
    keptMs: number,
  ): Promise<null> {
    const { redis, keys, productToken } = this.#options;
    const known = await this.#recall(ask.origin);
    const tries = known?.kind === 'unreachable' ? known.tries + 1 : record.tries;
    await redis.set(
      keys.robots(ask.origin, productToken),
      JSON.stringify({ ...record, tries }),
      'PX',
      keptMs,
    );
    await this.#changeClaim(ask, 'failed', UNREACHABLE_PAUSE_MS * 2 ** (tries - 1));
    return null;
  }

  /** The gate let no robots request through now: somebody else may try. */
  async giveUp(ask: RobotsAsk): Promise<void> {
    await this.#changeClaim(ask, '', 0);
  }

  async #changeClaim(ask: RobotsAsk, value: string, forMs: number): Promise<void> {
    const { redis, keys } = this.#options;
    await redis.eval(CHANGE_CLAIM, 1, keys.robotsClaim(ask.origin), ask.claim, value, forMs);
  }

  async #recall(origin: string): Promise<RobotsRecord | undefined> {
    const remembered = this.#memory.get(origin);
    if (remembered !== undefined && this.#options.monotonicMs() < remembered.untilMs)
      return remembered.record;
    this.#forget(origin);
    const text = await this.#options.redis.get(this.#options.keys.robots(origin, this.#options.productToken));
    const record = text === null ? undefined : decodeRecord(text);
    if (record !== undefined && record.kind !== 'unreachable') this.#remember(origin, record, MEMORY_MS);
    return record;
  }

  async #claim(origin: string, worker: string): Promise<RobotsVerdict> {
    const { redis, keys, claimMs } = this.#options;
    const claim = `${worker}.${randomUUID()}`;
    const claimed = await redis.set(keys.robotsClaim(origin), claim, 'PX', claimMs, 'NX');
    if (claimed === null) return { kind: 'pending', retryInMs: PENDING_RETRY_MS };
    return { kind: 'fetch', ask: { origin, url: `${origin}/robots.txt`, hops: 0, claim } };
  }

  #remember(origin: string, record: RobotsRecord, keptMs: number): void {
    if (record.kind === 'unreachable') return;
    this.#forget(origin);
    this.#memoryRules += ruleCount(record);
    this.#memory.set(origin, { record, untilMs: this.#options.monotonicMs() + Math.min(keptMs, MEMORY_MS) });
    for (const oldest of this.#memory.keys()) {
      if (this.#memory.size <= MEMORY_ORIGINS_MAX && this.#memoryRules <= MEMORY_RULES_MAX) break;
      this.#forget(oldest);
    }
  }

  #forget(origin: string): void {
    const known = this.#memory.get(origin);
    if (known === undefined) return;
    this.#memoryRules -= ruleCount(known.record);
    this.#memory.delete(origin);
  }
}

function ruleCount(record: RobotsRecord): number {
  return record.kind === 'rules' ? record.rules.length : 0;
}

/** The request for a robots.txt: any content type, the first 500 KiB, whatever the policy says of pages. */
export function robotsRequest(
  ask: RobotsAsk,
  page: Pick<PageRequest, 'body' | 'budgetMs' | 'signal' | 'exit'>,
): PageRequest {
  return {
    url: ask.url,
    method: 'GET',
    headers: { accept: 'text/plain, */*;q=0.5' },
    body: {
      ...page.body,
      decodedBytesMax: ROBOTS_BYTES_MAX,
      wireBytesMax: ROBOTS_BYTES_MAX,
      contentTypes: [],
    },
    budgetMs: page.budgetMs,
    signal: page.signal,
    exit: page.exit ?? null,
    overflow: 'cut',
  };
}
