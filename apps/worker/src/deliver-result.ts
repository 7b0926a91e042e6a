import type { StopReason } from '@holdoff/throttle-core';

/** What is handed over for every URL that ended, exactly as the sinks write it, the body apart. */
export interface EndedUrl {
  /**
   * Job id and the instant at which the job was entered. Delivery is at least once, and a job ends once: whatever comes
   * again under this key, after a crash or a fault, is the same end of the same URL.
   */
  readonly key: string;
  readonly job: string;
  readonly batch: string;
  readonly url: string;
  /** Where the last redirect led; equal to `url` without one. */
  readonly finalUrl: string;
  readonly outcome: 'done' | 'stopped';
  /** Whether it is what the job was sent for: done, and no handler said otherwise. */
  readonly useful: boolean;
  readonly reason: StopReason | null;
  /** One short sentence for people. */
  readonly detail: string;
  /** 0: no answer. */
  readonly status: number;
  readonly attempts: number;
  readonly contentType: string | null;
  readonly bodyBytes: number;
  /** Whether the body is known to be whole; `unknown`: the server ended it by closing the connection. */
  readonly bodyState: 'complete' | 'unknown' | 'truncated' | 'none';
  /** What the handler or the extraction made of the page, at most 256 KiB of JSON; null: nothing. */
  readonly data: unknown;
  /** ISO 8601, on the gate's clock. */
  readonly endedAt: string;
}

/** The answer that a result is about, for sinks that keep more than the line. */
export interface DeliveredPage {
  readonly method: 'GET' | 'HEAD';
  /** Lower-cased names; repeated lines kept apart. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Decoded. */
  readonly body: Uint8Array;
}

export const NO_PAGE: DeliveredPage = { method: 'GET', headers: {}, body: new Uint8Array(0) };

/**
 * A place where results go. `deliver` resolves once the result is safe there; it rejects with
 * `DeliveryFault` when the place is full or away: a local fault that ends no job and blames no host.
 */
export interface Sink {
  readonly name: string;
  /** `again`: this end may have been handed over before, here or by a worker that died. */
  deliver(ended: EndedUrl, page: DeliveredPage, again?: boolean): Promise<void>;
  /** Resolves when the place can be written to again after a fault. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export class DeliveryFault extends Error {
  readonly code = 'DELIVERY_FAULT';
  readonly sink: string;

  constructor(sink: string, cause: unknown) {
    const detail = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown cause';
    super(`results cannot be written to ${sink} (${detail})`, { cause });
    this.name = 'DeliveryFault';
    this.sink = sink;
  }
}

/** Hands a result to every sink that is not in `taken`, where those are added that take it: all must have it in the end. */
export async function deliverResult(
  sinks: readonly Sink[],
  ended: EndedUrl,
  page: DeliveredPage,
  taken: Set<string>,
  again: boolean,
): Promise<void> {
  for (const sink of sinks) {
    if (taken.has(sink.name)) continue;
    await sink.deliver(ended, page, again);
    taken.add(sink.name);
  }
}

/** Resolves when every sink can be written to again. */
export async function probeSinks(sinks: readonly Sink[]): Promise<void> {
  for (const sink of sinks) await sink.probe();
}
