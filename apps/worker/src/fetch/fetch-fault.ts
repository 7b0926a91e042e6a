import type { StopReason } from '@holdoff/throttle-core';

/** The part of an exchange that was under way. */
export type Phase = 'queue' | 'dns' | 'connect' | 'proxy' | 'tls' | 'headers' | 'body';

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
  | { readonly kind: 'deadline'; readonly phase: Phase }
  /** Ended by us: shutdown, lost lock, cancelled job. */
  | { readonly kind: 'cancelled'; readonly phase: Phase }
  /** Refused, reset, closed early, not HTTP. */
  | { readonly kind: 'transport'; readonly phase: Phase; readonly code: string }
  /** The answer ended before it was whole. */
  | { readonly kind: 'truncated'; readonly code: string }
  | { readonly kind: 'too_large'; readonly limit: 'wire' | 'decoded' | 'ratio' | 'headers' }
  | {
      readonly kind: 'bad_content';
      readonly rule:
        | 'content_type'
        | 'unknown_coding'
        | 'stacked_codings'
        | 'transfer_coding'
        | 'corrupt_coding'
        | 'partial';
      readonly detail: string;
    }
  /** The proxy itself refused, failed or could not be reached; `status` 0: it gave no HTTP answer. */
  | { readonly kind: 'proxy'; readonly proxy: string; readonly status: number; readonly code: string };

/** A fault on its way through streams and callbacks that only carry errors. Never leaves this app's fetch code. */
export class FaultError extends Error {
  override readonly name = 'FaultError';
  readonly fault: FetchFault;

  constructor(fault: FetchFault) {
    super(fault.kind);
    this.fault = fault;
  }
}
