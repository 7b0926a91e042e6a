import type { FaultPhase, StopReason } from '@holdoff/throttle-core';

export const SIZE_LIMITS = ['wire', 'decoded', 'ratio', 'headers'] as const;
type SizeLimit = (typeof SIZE_LIMITS)[number];

export const BAD_CONTENT_RULES = [
  'content_type',
  'unknown_coding',
  'stacked_codings',
  'transfer_coding',
  'corrupt_coding',
  'partial',
  'no_page',
] as const;
type BadContentRule = (typeof BAD_CONTENT_RULES)[number];

/** Everything that can keep an exchange from ending with a whole answer. Made once, where it is noticed. */
export type FetchFault =
  /** Refused before any network use. */
  | {
      readonly kind: 'refused';
      readonly stop: Extract<StopReason, 'invalid_url' | 'address_not_allowed'>;
      readonly detail: string;
    }
  | { readonly kind: 'dns'; readonly exists: 'no' | 'unknown'; readonly code: string }
  | { readonly kind: 'tls_identity'; readonly code: string }
  /** The attempt's whole budget ran out. */
  | { readonly kind: 'deadline'; readonly phase: FaultPhase }
  /** Ended by us: shutdown, lost lock, cancelled job. */
  | { readonly kind: 'cancelled'; readonly phase: FaultPhase }
  /** Refused, reset, closed early, not HTTP. */
  | { readonly kind: 'transport'; readonly phase: FaultPhase; readonly code: string }
  /** The answer ended before it was whole. */
  | { readonly kind: 'truncated'; readonly code: string }
  | { readonly kind: 'too_large'; readonly limit: SizeLimit }
  | { readonly kind: 'bad_content'; readonly rule: BadContentRule; readonly detail: string }
  /** The proxy itself refused, failed or could not be reached; `answer` null: it gave no HTTP answer. */
  | {
      readonly kind: 'proxy';
      readonly proxy: string;
      readonly answer: ProxyAnswer | null;
      readonly code: string;
    };

/** What a proxy answered to CONNECT instead of opening the tunnel. */
export interface ProxyAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly receivedAtMs: number;
}

/** A fault on its way through streams and callbacks that only carry errors. Never leaves this app's fetch code. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly fault: FetchFault;

  constructor(fault: FetchFault) {
    super(fault.kind);
    this.fault = fault;
  }
}
