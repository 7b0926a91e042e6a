import type { BodyPolicy, Outcome, ProxyFailure } from '@holdoff/throttle-core';
import type { ProxyExit } from '@holdoff/url-job';
import type { ProxyAnswer } from './fetch/fetch-fault.ts';

/** What one request of an attempt needs to know. The gate has already admitted it. */
export interface PageRequest {
  readonly url: string;
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: BodyPolicy;
  /** What is left of the attempt's budget, ms on a monotonic clock. */
  readonly budgetMs: number;
  /** Ends the request at once: shutdown, lost lock, cancelled job. */
  readonly signal: AbortSignal;
  /**
   * What a body over its limits leads to. refuse (default): an outcome with `too_large`. cut: the first
   * `decodedBytesMax` bytes, state `truncated`; for robots.txt, whose beginning counts.
   */
  readonly overflow?: 'refuse' | 'cut';
  /** The proxy that carries the request; null or absent: directly. */
  readonly exit?: ProxyExit | null;
}

/** What happened on the wire. Never thrown: every HTTP answer and every failure is a value. */
export interface PageExchange {
  readonly outcome: Outcome;
  /** 0: no response headers arrived. */
  readonly status: number;
  /** Lower-cased names; repeated lines kept apart. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Wall clock at the receipt of the response headers, for HTTP-dates. */
  readonly receivedAtMs: number;
  /** Decoded body; empty for redirects, throttles and failures. */
  readonly body: Uint8Array;
  readonly bodyState: 'complete' | 'unknown' | 'truncated' | 'none';
  readonly wireBytes: number;
  readonly latencyMs: number;
  readonly durationMs: number;
  /** Absolute URL of the next hop; null: not a redirect. */
  readonly redirectTo: string | null;
  /** False when it is certain that no byte of the request reached the wire. */
  readonly sent: boolean;
  /** How the proxy failed; absent or null: it did not, or there is none. */
  readonly proxyFailure?: ProxyFailure | null;
  /** What the proxy answered instead of carrying the request: for the proxy's own cooldown, never the host's. */
  readonly proxyAnswer?: ProxyAnswer | null;
}

export type FetchPage = (request: PageRequest) => Promise<PageExchange>;
