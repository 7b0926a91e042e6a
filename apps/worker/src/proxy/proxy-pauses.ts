import type { Redis } from 'ioredis';
import { readServerWait } from '@holdoff/throttle-core';
import type { PageExchange } from '../fetch-page.ts';
import type { WorkerKeys } from '../worker-keys.ts';
import type { ProxyExit } from './exit-pool.ts';

/** A proxy that fails this often in a row, as one worker sees it, is left alone for a while by all. */
const FAILURES_MAX = 5;
const PAUSE_FIRST_MS = 30_000;
const PAUSE_MOST_MS = 600_000;
/** How long an answer of Redis is used without asking again. */
const MEMORY_MS = 500;
const DEFAULT_READING = { parse: 'lenient', quirk: null } as const;

/**
 * The circuit of each proxy: a pause in Redis that the whole fleet sees, longer with each further failure, and as
 * long as the proxy itself asked for. A pause is only ever extended; while it lasts no attempt is spent on the
 * proxy, and the hosts behind it learn nothing. After it the next request is the trial.
 */
export class ProxyPauses {
  readonly #redis: Pick<Redis, 'pttl' | 'set' | 'pexpire'>;
  readonly #keys: WorkerKeys;
  readonly #monotonicMs: () => number;
  readonly #failures = new Map<string, number>();
  readonly #known = new Map<string, { readonly untilMs: number; readonly lookAgainMs: number }>();

  constructor(redis: Pick<Redis, 'pttl' | 'set' | 'pexpire'>, keys: WorkerKeys, monotonicMs: () => number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#monotonicMs = monotonicMs;
  }

  /** 0: the proxy may be used. */
  async pausedForMs({ proxy }: ProxyExit): Promise<number> {
    const nowMs = this.#monotonicMs();
    const known = this.#known.get(proxy);
    if (known !== undefined && nowMs < known.lookAgainMs) return Math.max(0, known.untilMs - nowMs);
    const leftMs = Math.max(0, await this.#redis.pttl(this.#keys.proxyPause(proxy)));
    this.#known.set(proxy, { untilMs: nowMs + leftMs, lookAgainMs: nowMs + MEMORY_MS });
    return leftMs;
  }

  /** Learns from one exchange that was to go through the proxy. */
  async record({ proxy }: ProxyExit, exchange: PageExchange): Promise<void> {
    if (exchange.outcome.source !== 'proxy') {
      // An answer of the destination, or its refusal, came through the proxy; what we refused ourselves says nothing.
      if (exchange.outcome.source === 'destination') this.#failures.delete(proxy);
      return;
    }
    const failures = (this.#failures.get(proxy) ?? 0) + 1;
    this.#failures.set(proxy, failures);
    const pauseMs = Math.max(askedForMs(exchange), pauseAfter(failures));
    if (pauseMs === 0) return;
    const key = this.#keys.proxyPause(proxy);
    const first = await this.#redis.set(key, exchange.outcome.detail.slice(0, 200), 'PX', pauseMs, 'NX');
    if (first === null) await this.#redis.pexpire(key, pauseMs, 'GT');
    this.#known.delete(proxy);
  }
}

function pauseAfter(failures: number): number {
  if (failures < FAILURES_MAX) return 0;
  return Math.min(PAUSE_MOST_MS, PAUSE_FIRST_MS * 2 ** (failures - FAILURES_MAX));
}

/** What the proxy asked for with a Retry-After of its own. */
function askedForMs({ proxyAnswer }: PageExchange): number {
  if (proxyAnswer == null) return 0;
  const { wait } = readServerWait(proxyAnswer, DEFAULT_READING);
  return wait.kind === 'delay' ? wait.seconds * 1_000 : 0;
}
