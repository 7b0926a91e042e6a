import type { Outcome } from './classify-outcome.ts';
import type { RetryAfterPolicy } from './policy.ts';
import { noHintPauseMs, paddedInstantMs, type ServerWait } from './server-wait.ts';

/** What the whole fleet learns about a host from one result, whatever becomes of the job. */
export interface HostEffect {
  /** Absolute; 0: none. Max-merged, never moved back. */
  readonly cooldownUntilMs: number;
  /** The throttle came without a wait that helps: none, one that cannot be read, or 0 s. Lengthens the next pause. */
  readonly noHint: boolean;
  /** Holds the host for its owner. */
  readonly hold: { readonly reason: string } | null;
  /** A live RateLimit hint: at most `remaining` requests until `untilMs`. */
  readonly rateLimit: RateLimitHint | null;
}

export interface RateLimitHint {
  readonly remaining: number;
  readonly windowMs: number;
  readonly untilMs: number;
}

export interface HostEffectInput {
  readonly outcome: Outcome;
  /** The answer is a redirect that will be followed. */
  readonly redirected: boolean;
  readonly wait: ServerWait;
  readonly rateLimit: RateLimitHint | null;
  /** Consecutive throttling events of the host without a wait that helps, this one not included. */
  readonly noHintEvents: number;
  readonly policy: RetryAfterPolicy;
  readonly draw01: number;
  readonly receivedAtMs: number;
}

/** Why a host is held, as data; the sentence for people is in {@link HostEffect.hold}. */
export type HoldCause = 'host_pause_max' | 'no_hint_events' | 'malformed' | 'absent';

/**
 * The host effect of one result. It depends on nothing but the result, the policy and the host: the job's own
 * fate (budgets, deadline, cancelled) cannot hide it. A proxy's answer or our own fault says nothing about the
 * destination.
 */
export function hostEffectOf(input: HostEffectInput): HostEffect {
  if (input.outcome.source !== 'destination') return NO_EFFECT;
  const hold = holdOf(input);
  return {
    cooldownUntilMs: cooldownOf(input),
    noHint: lacksHint(input) || isEmptyAdvice(input),
    hold: hold === null ? null : { reason: hold.reason },
    rateLimit: input.rateLimit,
  };
}

const NO_EFFECT: HostEffect = { cooldownUntilMs: 0, noHint: false, hold: null, rateLimit: null };

/**
 * Whether the response's wait binds us: throttles, unavailability, and the wait before a redirect is followed
 * (RFC 9110 section 10.2.3). On any other answer, such as a served page, it means nothing.
 */
export function bindingWait(outcome: Outcome, redirected: boolean, wait: ServerWait): ServerWait {
  const binds = outcome.class === 'throttled' || outcome.class === 'unavailable' || redirected;
  return binds ? wait : { kind: 'absent' };
}

function lacksHint(input: HostEffectInput): boolean {
  return input.outcome.class === 'throttled' && input.wait.kind !== 'delay';
}

/** "Come back after 0 s" has been read, but is no help to one who has just been refused. */
function isEmptyAdvice({ outcome, wait }: HostEffectInput): boolean {
  return outcome.class === 'throttled' && wait.kind === 'delay' && wait.seconds === 0;
}

function cooldownOf(input: HostEffectInput): number {
  const wait = bindingWait(input.outcome, input.redirected, input.wait);
  if (wait.kind === 'delay') {
    return paddedInstantMs(input, wait.seconds);
  }
  if (!lacksHint(input)) return 0;
  return Math.ceil(input.receivedAtMs + noHintPauseMs(input.noHintEvents + 1, input.policy, input.draw01));
}

/** Why the host must be held for its owner; null: it must not. */
export function holdCauseOf(input: HostEffectInput): HoldCause | null {
  return holdOf(input)?.cause ?? null;
}

interface Hold {
  readonly cause: HoldCause;
  /** For the owner. */
  readonly reason: string;
}

function holdOf(input: HostEffectInput): Hold | null {
  if (input.outcome.source !== 'destination') return null;
  const { policy, noHintEvents } = input;
  const wait = bindingWait(input.outcome, input.redirected, input.wait);
  if (wait.kind === 'delay') return longWaitHold(wait.seconds, policy.hostPauseMaxMs);
  if (wait.kind === 'malformed' && policy.onMalformed === 'hold') {
    return { cause: 'malformed', reason: 'the server named a wait that cannot be read' };
  }
  if (!lacksHint(input)) return null;
  if (wait.kind === 'absent' && policy.onAbsent === 'hold') {
    return { cause: 'absent', reason: 'the server throttled without naming a wait' };
  }
  const events = noHintEvents + 1;
  if (policy.noHintEventsMax === null || events < policy.noHintEventsMax) return null;
  return { cause: 'no_hint_events', reason: `${events} throttling events in a row without a usable wait` };
}

function longWaitHold(seconds: number, mostMs: number | null): Hold | null {
  if (mostMs === null || seconds * 1000 <= mostMs) return null;
  const reason = `the server asked for ${seconds} s, more than the ${mostMs / 1000} s that need no owner`;
  return { cause: 'host_pause_max', reason };
}
