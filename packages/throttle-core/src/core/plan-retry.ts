import { backoffMs } from './backoff.ts';
import type { Outcome } from './classify-outcome.ts';
import {
  bindingWait,
  holdCauseOf,
  type HostEffect,
  hostEffectOf,
  type HoldCause,
  type RateLimitHint,
} from './host-effect.ts';
import type { Binding, DeferCause, PlanReason } from './plan-reason.ts';
import type { Policy } from './policy.ts';
import { emptyBucket, spendReached, type SpendLimits, type Spent } from './retry-budget.ts';
import { paddedInstantMs, type ServerWait } from './server-wait.ts';
import type { StopReason } from './stop-reason.ts';

/** The ledger's view of a job, as the planner needs it: read at admission, so this attempt is counted in it. */
export interface JobFacts {
  readonly attempts: number;
  readonly run: number;
  /** 429s of this run that are settled already; the outcome being planned is not among them. */
  readonly throttledInRun: number;
  readonly deferrals: number;
  readonly startedAtMs: number;
  /** Absolute; 0: no deadline. */
  readonly deadlineMs: number;
  readonly notBeforeMs: number;
  /** Consecutive throttling events of the host without a usable wait, before this one. */
  readonly noHintEvents: number;
  readonly cooldownUntilMs: number;
  readonly openUntilMs: number;
  /** null: the bucket is off. */
  readonly batchTokensLeft: number | null;
  readonly hostTokensLeft: number | null;
}

export type JobEffect =
  | { readonly kind: 'done' }
  | { readonly kind: 'stop'; readonly reason: StopReason }
  /** Another attempt of the same run. `inPlace` keeps the host slot reserved until then. */
  | { readonly kind: 'retry_at'; readonly notBeforeMs: number; readonly inPlace: boolean }
  /** The next run, same id; costs neither attempt nor token. */
  | { readonly kind: 'defer'; readonly notBeforeMs: number }
  /** Parked until the host's owner resumes it. */
  | { readonly kind: 'hold' }
  /** The attempt goes on at another host (redirect), or this was a robots fetch: only the lease ends. */
  | { readonly kind: 'continue' }
  /** The attempt was given back unsent or cut by shutdown: the job waits as before. The attempt stays counted. */
  | { readonly kind: 'release' };

export interface PlanInput {
  readonly outcome: Outcome;
  /** What the response said about waiting, read by the parser the policy names. */
  readonly wait: ServerWait;
  /** A live RateLimit hint of the response, passed on to the fleet. */
  readonly rateLimit: RateLimitHint | null;
  /** The answer is a redirect to be followed; `hop` counts from 1. null: it is not. */
  readonly redirect: { readonly hop: number } | null;
  readonly method: string;
  readonly cancelled: boolean;
  readonly approved: boolean;
  readonly job: JobFacts;
  /** What the batch may spend and has spent, this attempt included; null: not limited. */
  readonly spend: { readonly limits: SpendLimits; readonly spent: Spent } | null;
  readonly policy: Policy;
  /** One random draw, 0 to 1, for every jitter of this plan. */
  readonly draw01: number;
  readonly nowMs: number;
  /** Receipt of the response headers, on the same clock as `nowMs`. */
  readonly receivedAtMs: number;
  /** The not_before already stored for this very outcome; null: it is planned for the first time. */
  readonly storedNotBeforeMs: number | null;
}

export interface Plan {
  readonly hostEffect: HostEffect;
  readonly jobEffect: JobEffect;
  readonly reason: PlanReason;
  /** No attempt or hop before this instant; null: there is none to come. */
  readonly notBeforeMs: number | null;
  /** What is left between the end of the next attempt and the deadline; null: no deadline or no next attempt. */
  readonly slackMs: number | null;
}

/**
 * Decides what one result means for the fleet (host effect) and for the job (job effect). Pure: all facts, the
 * instant and the random draw are arguments. The host effect does not depend on the job's fate.
 *
 * @throws RangeError when an instant is not finite or the draw is outside 0 to 1: every comparison with such a
 * number would silently be false, and the job would go too early.
 */
export function planRetry(input: PlanInput): Plan {
  assertUsable(input);
  const hostEffect = hostEffectOf(hostInput(input));
  const ended = endOf(input);
  if (ended !== null) return { hostEffect, ...ended, notBeforeMs: null, slackMs: null };
  return { hostEffect, ...nextOf(input, hostEffect) };
}

type Step = Pick<Plan, 'jobEffect' | 'reason'>;

/** The gates that need no instant: consent, finality, the rule for unusable waits, attempts. null: go on. */
function endOf(input: PlanInput): Step | null {
  return consentEnd(input) ?? outcomeEnd(input) ?? noWaitEnd(input) ?? attemptsEnd(input);
}

function consentEnd({ cancelled, approved, method, policy }: PlanInput): Step | null {
  if (cancelled) return stop('cancelled', { code: 'cancelled' });
  if (!approved) return stop('not_approved', { code: 'not_approved' });
  const repeatable = policy.methods === 'any' || policy.methods.some((allowed) => allowed === method);
  return repeatable ? null : stop('method', { code: 'method', method });
}

function outcomeEnd(input: PlanInput): Step | null {
  const { outcome, redirect } = input;
  if (outcome.stop !== null) return stop(outcome.stop, { code: 'outcome', stop: outcome.stop });
  switch (outcome.class) {
    case 'served':
      return redirect === null
        ? { jobEffect: { kind: 'done' }, reason: { code: 'served' } }
        : hopsEnd(input, redirect);
    case 'permanent':
    case 'blocked':
      return stop(outcome.class, { code: 'outcome', stop: outcome.class });
    case 'neutral':
      // A proxy's refusal is an answer to be retried within bounds; given back at once it would be asked for ever.
      return outcome.source === 'proxy'
        ? null
        : { jobEffect: { kind: 'release' }, reason: { code: 'given_back' } };
    case 'throttled':
    case 'unavailable':
    case 'transport':
      return null;
  }
}

function hopsEnd({ policy }: PlanInput, { hop }: { readonly hop: number }): Step | null {
  const { hopsMax } = policy.redirects;
  return hop > hopsMax ? stop('redirect_loop', { code: 'redirect_limit', hop, hopsMax }) : null;
}

/** A wait that cannot be used, on an answer where it counts: the policy may end the job or park it. */
function noWaitEnd(input: PlanInput): Step | null {
  const wait = bindingOf(input);
  if (wait.kind === 'delay' || input.outcome.source !== 'destination') return null;
  const { onAbsent, onMalformed } = input.policy.retryAfter;
  const rule = wait.kind === 'malformed' ? onMalformed : onAbsent;
  const counts = wait.kind === 'malformed' || input.outcome.class === 'throttled';
  if (counts && rule === 'stop') return stop('malformed_wait', { code: 'no_usable_wait', wait: wait.kind });
  const cause = holdCauseOf(hostInput(input));
  return cause === null ? null : hold(cause);
}

function attemptsEnd({ job, policy, redirect }: PlanInput): Step | null {
  const { totalMax } = policy.attempts;
  if (totalMax === null || redirect !== null || job.attempts < totalMax) return null;
  return stop('attempts', { code: 'attempts_used', attempts: job.attempts, attemptsMax: totalMax });
}

/** The gates that need the instant, and the choice between going on, waiting, deferring and holding. */
function nextOf(input: PlanInput, hostEffect: HostEffect): Omit<Plan, 'hostEffect'> {
  const deferCause = deferCauseOf(input);
  const { notBeforeMs, binding } = notBeforeOf(input, hostEffect, deferCause);
  const ended = deadlineEnd(input, notBeforeMs) ?? budgetEnd(input);
  if (ended !== null) return { ...ended, notBeforeMs: null, slackMs: null };
  const { deadlineMs } = input.job;
  const slackMs = deadlineMs === 0 ? null : deadlineMs - notBeforeMs - input.policy.deadline.attemptMs;
  const step = waitOf(input, notBeforeMs, binding, deferCause);
  if (step.jobEffect.kind === 'stop') return { ...step, notBeforeMs: null, slackMs: null };
  return { ...step, notBeforeMs, slackMs };
}

function waitOf(
  input: PlanInput,
  notBeforeMs: number,
  binding: Binding,
  deferCause: DeferCause | null,
): Step {
  const cause = holdCauseOf(hostInput(input));
  if (cause !== null) return hold(cause);
  if (deferCause !== null) return deferred(input, notBeforeMs, { code: 'defer', cause: deferCause, binding });
  if (input.redirect !== null) {
    const { hopsMax } = input.policy.redirects;
    return {
      jobEffect: { kind: 'continue' },
      reason: { code: 'redirected', hop: input.redirect.hop, hopsMax },
    };
  }
  const inPlace = staysInPlace(input, notBeforeMs);
  return { jobEffect: { kind: 'retry_at', notBeforeMs, inPlace }, reason: { code: 'retry', binding } };
}

function deferred({ job, policy }: PlanInput, notBeforeMs: number, reason: PlanReason): Step {
  const deferralsMax = policy.defer.countMax;
  if (deferralsMax !== null && job.deferrals >= deferralsMax) {
    return stop('deferrals', { code: 'deferrals_used', deferrals: job.deferrals, deferralsMax });
  }
  return { jobEffect: { kind: 'defer', notBeforeMs }, reason };
}

/** Why this run is over; null: it goes on. A longer wait can end a run, never an instant come earlier for it. */
function deferCauseOf(input: PlanInput): DeferCause | null {
  const { policy, job, outcome } = input;
  const wait = bindingOf(input);
  const { deferOverMs } = policy.retryAfter;
  if (wait.kind === 'delay' && deferOverMs !== null && wait.seconds * 1000 > deferOverMs) return 'long_wait';
  if (outcome.class !== 'throttled') return null;
  const { throttledPerRunMax } = policy.attempts;
  if (throttledPerRunMax !== null && job.throttledInRun + 1 > throttledPerRunMax) return 'run_limit';
  return wait.kind !== 'delay' && outcome.source === 'destination' ? 'no_hint' : null;
}

/**
 * The latest of all instants that bind the job. The order of the list breaks ties for the explanation only.
 * An instant that was stored for this outcome stands: planning it again must not restart the countdown.
 */
function notBeforeOf(
  input: PlanInput,
  hostEffect: HostEffect,
  deferCause: DeferCause | null,
): { readonly notBeforeMs: number; readonly binding: Binding } {
  if (input.storedNotBeforeMs !== null) return { notBeforeMs: input.storedNotBeforeMs, binding: 'stored' };
  const { job, policy, nowMs, draw01 } = input;
  const wait = bindingOf(input);
  const instants: [Binding, number][] = [['server_wait', serverInstant(input, wait)]];
  if (startsNextRun(input, wait, deferCause))
    instants.push(['next_run', nowMs + policy.defer.nextRunAfterMs]);
  if (input.redirect === null) {
    // A redirect goes on at a host of its own, whose clocks the gate asks for the hop.
    instants.push(
      // The pause that the fleet is about to learn holds for this job too.
      ['cooldown', Math.max(job.cooldownUntilMs, hostEffect.cooldownUntilMs)],
      ['circuit', job.openUntilMs],
      ['backoff', nowMs + backoffMs(job.attempts, policy.backoff, draw01)],
    );
  }
  let latest: [Binding, number] = ['now', Math.ceil(nowMs)];
  for (const candidate of instants) if (candidate[1] > latest[1]) latest = candidate;
  return { notBeforeMs: Math.ceil(latest[1]), binding: latest[0] };
}

function serverInstant({ policy, draw01, receivedAtMs }: PlanInput, wait: ServerWait): number {
  return wait.kind === 'delay' ? paddedInstantMs(receivedAtMs, wait.seconds, policy.retryAfter, draw01) : 0;
}

/** A run that is over for its 429s waits for the next one; a long wait or a missing hint has its own instant. */
function startsNextRun({ policy }: PlanInput, wait: ServerWait, cause: DeferCause | null): boolean {
  if (cause === 'run_limit') return true;
  return cause === 'no_hint' && wait.kind === 'absent' && policy.retryAfter.onAbsent === 'defer';
}

/**
 * Strictly before the deadline: an attempt that could end exactly at it is one that can be late. A hop without a
 * wait runs on the budget that was checked when its attempt was admitted.
 */
function deadlineEnd(input: PlanInput, notBeforeMs: number): Step | null {
  const { attemptMs, headroomMs, required } = input.policy.deadline;
  const { deadlineMs } = input.job;
  if (input.redirect !== null && bindingOf(input).kind !== 'delay') return null;
  if (deadlineMs === 0) return required ? stop('deadline', { code: 'deadline_missing' }) : null;
  if (notBeforeMs + attemptMs + headroomMs < deadlineMs) return null;
  return stop('deadline', { code: 'deadline', notBeforeMs, attemptMs, headroomMs, deadlineMs });
}

/** What a re-send would be refused for at dispatch. A redirect hop is part of an attempt already paid for. */
function budgetEnd({ job, spend, redirect }: PlanInput): Step | null {
  const limit = spend === null ? null : spendReached(spend.limits, spend.spent);
  if (limit !== null) return stop('spend', { code: 'spend', limit });
  if (redirect !== null) return null;
  const bucket = emptyBucket(job.batchTokensLeft, job.hostTokensLeft);
  return bucket === null ? null : stop('retry_budget', { code: 'no_tokens', bucket });
}

/**
 * A short wait keeps the job's host slot: the whole host pauses meanwhile, so the slot is idle anyway. Not longer
 * than such a pause can last, or another cause of delay would keep a usable slot from the other jobs.
 */
function staysInPlace(input: PlanInput, notBeforeMs: number): boolean {
  const { retryAfter } = input.policy;
  const wait = bindingOf(input);
  if (input.outcome.class !== 'throttled' || wait.kind !== 'delay' || retryAfter.inPlaceMaxMs === 0)
    return false;
  const longestMs = paddedInstantMs(input.receivedAtMs, retryAfter.inPlaceMaxMs / 1000, retryAfter, 1);
  return wait.seconds * 1000 <= retryAfter.inPlaceMaxMs && notBeforeMs <= longestMs;
}

function bindingOf(input: PlanInput): ServerWait {
  return bindingWait(input.outcome, input.redirect !== null, input.wait);
}

function hostInput(input: PlanInput): Parameters<typeof hostEffectOf>[0] {
  return {
    outcome: input.outcome,
    redirected: input.redirect !== null,
    wait: input.wait,
    rateLimit: input.rateLimit,
    noHintEvents: input.job.noHintEvents,
    policy: input.policy.retryAfter,
    draw01: input.draw01,
    receivedAtMs: input.receivedAtMs,
  };
}

function stop(reason: StopReason, why: PlanReason): Step {
  return { jobEffect: { kind: 'stop', reason }, reason: why };
}

function hold(cause: HoldCause): Step {
  return { jobEffect: { kind: 'hold' }, reason: { code: 'host_held', cause } };
}

function assertUsable({ nowMs, receivedAtMs, draw01, storedNotBeforeMs }: PlanInput): void {
  const instants = [nowMs, receivedAtMs, storedNotBeforeMs ?? 0];
  if (!instants.every(Number.isFinite)) throw new RangeError('planRetry: an instant is not a finite number');
  if (!(draw01 >= 0 && draw01 <= 1))
    throw new RangeError(`planRetry: draw01 is ${draw01}, not within 0 to 1`);
}
