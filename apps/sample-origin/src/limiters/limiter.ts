/** What a limiter says to one request. A refusal's wait is the time until a request would be allowed if none came before. */
export type Verdict =
  | {
      readonly kind: 'allowed';
      /** Requests that would be allowed at once after this one; null: the limiter has no such number. */
      readonly remaining: number | null;
      /** Until the full allowance is back, ms; null: not a matter of time. */
      readonly resetMs: number | null;
    }
  | { readonly kind: 'refused'; readonly waitMs: number };

/**
 * Decides from the instant and the requests in flight alone: no clock, no randomness, so a table of instants
 * gives the same answers in a test as on a socket. Instants are ms since the limiter's start and never go back.
 */
export interface Limiter {
  take(nowMs: number, inFlight: number): Verdict;
}
