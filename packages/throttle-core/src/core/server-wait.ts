import type { RetryAfterPolicy } from './policy.ts';

/** What a response said about waiting, after parsing. Three different results: none of them is "zero". */
export type ServerWait =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'delay';
      /** Whole seconds from receipt, 0 to 2^31. */
      readonly seconds: number;
      /** The header that gave it, for people: `retry-after`, `ratelimit`, `x-ratelimit-reset`, … */
      readonly source: string;
    };

export interface PadInput {
  readonly receivedAtMs: number;
  readonly policy: RetryAfterPolicy;
  /** Consecutive throttling events of the host before this one that named no wait, or 0 s. */
  readonly noHintEvents: number;
  readonly draw01: number;
}

/**
 * When to ask again after a wait of `seconds`: receipt + max(wait x multiply, wait + at least) + U(0, wake jitter).
 * Servers round down and close their windows late, so the pad only ever adds. "At least" doubles with each event
 * without a wait that helps, up to the cap of the pauses without one: a server that refuses and says 0 s again and
 * again is asked ever less often. Whole milliseconds, rounded up.
 */
export function paddedInstantMs(input: PadInput, seconds: number): number {
  const { padMultiply, padAtLeastMs, noHintCapMs, wakeJitterMs } = input.policy;
  const waitMs = seconds * 1000;
  const grownMs = Math.min(padAtLeastMs * 2 ** Math.min(input.noHintEvents, DOUBLINGS_MAX), noHintCapMs);
  const paddedMs = Math.max(waitMs * padMultiply, waitMs + Math.max(padAtLeastMs, grownMs));
  return Math.ceil(input.receivedAtMs + paddedMs + input.draw01 * wakeJitterMs);
}

/**
 * The host's pause after its `event`-th consecutive throttle without a usable wait (1 is the first):
 * min(cap, base x 2^(event-1)) x U(1, 1.5). It starts above zero, or a silent server would be asked at once.
 */
export function noHintPauseMs(event: number, policy: RetryAfterPolicy, draw01: number): number {
  const steps = Math.min(Math.max(event - 1, 0), DOUBLINGS_MAX);
  const pauseMs = Math.min(policy.noHintCapMs, policy.noHintBaseMs * 2 ** steps);
  return Math.ceil(pauseMs * (1 + draw01 / 2));
}

/** Beyond this any cap has been reached, and the power stays a finite number. */
const DOUBLINGS_MAX = 50;
