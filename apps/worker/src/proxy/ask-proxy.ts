import { type HostKey, hostKeyThrough, proxyScope, readServerWait } from '@holdoff/throttle-core';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import type { AskProxyReply } from '@holdoff/throttle-core';
import type { ProxyExit } from '@holdoff/url-job';
import type { Attempt, Target } from '../attempt.ts';
import type { PageExchange } from '../fetch-page.ts';
import { ADMISSION_REPEATS, repeatGateCall } from '../repeat-gate-call.ts';

/** Permission to send requests of one delivery through its proxy. Whoever has it ends with `tell` or `leave`. */
export interface Passage {
  /** What one exchange through the proxy, or the attempt at one, says about the proxy. */
  tell(exchange: PageExchange): Promise<void>;
  /** Nothing more is sent: where this was the trial of a proxy that failed, another job may be it. */
  leave(): Promise<void>;
}

type NoPassage = Exclude<AskProxyReply, { kind: 'go' }>;
export type PassageReply = { readonly kind: 'go'; readonly passage: Passage } | NoPassage;

const DIRECT: Passage = { tell: async () => undefined, leave: async () => undefined };
const NEVER = new AbortController().signal;
const DEFAULT_READING = { parse: 'lenient', quirk: null } as const;

/**
 * Asks whether the proxy may be used. It comes before everything that costs the host or the job something: while a
 * proxy is left alone its jobs stand in its line, and the hosts behind it learn nothing.
 */
export async function askProxy(
  attempt: Attempt,
  target: Target,
  exit: ProxyExit | null,
): Promise<PassageReply> {
  if (exit === null) return { kind: 'go', passage: DIRECT };
  const { gate, call, sleep, monotonicMs } = attempt.parts;
  const { attemptMs, headroomMs, leaseMarginMs } = target.scope.rules;
  const proxy = proxyScope(exit.proxy);
  const request = {
    job: attempt.delivery.job,
    proxy,
    nonce: attempt.nonce(),
    delivery: attempt.delivery.number,
    // A robots.txt and the page.
    probeMs: 2 * (attemptMs + leaseMarginMs),
    neededMs: attemptMs + headroomMs,
  };
  const reply = await repeatGateCall(
    () => gate.askProxy(request),
    ADMISSION_REPEATS,
    (ms) => sleep(ms, attempt.delivery.signal),
  );
  if (reply.kind !== 'go') return reply;
  call(reply.call);
  const askedAtMs = monotonicMs();
  const nowMs = (): number => reply.nowMs + (monotonicMs() - askedAtMs);
  return { kind: 'go', passage: new ProxyPassage(attempt, proxy, reply, nowMs) };
}

class ProxyPassage implements Passage {
  readonly #attempt: Attempt;
  readonly #proxy: HostKey;
  readonly #generation: number;
  readonly #nowMs: () => number;
  #probe: string;
  #points: number;

  constructor(
    attempt: Attempt,
    proxy: HostKey,
    { probe, generation, points }: Extract<AskProxyReply, { kind: 'go' }>,
    nowMs: () => number,
  ) {
    this.#attempt = attempt;
    this.#proxy = proxy;
    this.#generation = generation;
    this.#nowMs = nowMs;
    this.#probe = probe;
    this.#points = points;
  }

  async tell(exchange: PageExchange): Promise<void> {
    const failure = exchange.proxyFailure ?? null;
    if (failure !== null) {
      const waitMs = askedForMs(exchange);
      const cooldownUntilMs = waitMs === 0 ? 0 : this.#nowMs() + waitMs;
      return this.#settle({ kind: 'failed', failure, cooldownUntilMs, why: exchange.outcome.detail });
    }
    if (!cameThrough(exchange)) return;
    if (this.#probe !== '' || this.#points > 0) await this.#settle({ kind: 'through' });
  }

  async leave(): Promise<void> {
    if (this.#probe !== '') await this.#settle({ kind: 'unused' });
  }

  async #settle(result: Parameters<Attempt['parts']['gate']['settleProxy']>[0]['result']): Promise<void> {
    const { gate, call, lookWithin, sleep } = this.#attempt.parts;
    const request = {
      proxy: this.#proxy,
      nonce: this.#attempt.nonce(),
      probe: this.#probe,
      generation: this.#generation,
      result,
    };
    this.#probe = '';
    this.#points = 0;
    try {
      const reply = await repeatGateCall(
        () => gate.settleProxy(request),
        ADMISSION_REPEATS,
        (ms) => sleep(ms, NEVER),
      );
      call(reply.call);
      if (reply.lookAtMs !== null) lookWithin(reply.lookAtMs - reply.nowMs);
    } catch (error) {
      // What the fleet does not learn of a proxy costs it some requests to the proxy; a probe ends with its time.
      if (!(error instanceof GateUnavailable)) throw error;
    }
  }
}

/** The destination answered, or refused us, or its certificate did: the proxy has carried that. */
function cameThrough({ outcome }: PageExchange): boolean {
  return outcome.source === 'destination' || outcome.stop === 'tls';
}

/** What the proxy asked for with a Retry-After of its own. */
function askedForMs({ proxyAnswer }: PageExchange): number {
  if (proxyAnswer == null) return 0;
  const { wait } = readServerWait(proxyAnswer, DEFAULT_READING);
  return wait.kind === 'delay' ? wait.seconds * 1_000 : 0;
}

/** The target as its policy counts it: its host, or its host as seen through this exit. */
export function scopedTo(target: Target, exit: ProxyExit | null): Target {
  const { scope } = target;
  if (exit === null || scope.settings.throttleScope !== 'exit') return target;
  return { ...target, scope: { ...scope, host: hostKeyThrough(scope.host, exit.proxy) } };
}
