import { holdCauseOf, type HostEffect, hostEffectOf, type HoldCause } from './host-effect.ts';
import { deferCauseOf, notBeforeOf, staysInPlace } from './not-before.ts';
import { bindingOf, type PlanInput } from './plan-input.ts';
import type { Binding, DeferCause, PlanReason } from './plan-reason.ts';
import { emptyBucket, spendReached } from './retry-budget.ts';
import type { StopReason } from './stop-reason.ts';

export type { JobFacts, PlanInput } from './plan-input.ts';

export type JobEffect =
  | { readonly kind: 'done' }
  | { readonly kind: 'stop'; readonly reason: StopReason }
  /**
   * Another attempt of the same run. `inPlace` keeps the host slot reserved until then. `uncounted`: nothing of this one
   * reached the host, so the next takes neither an attempt nor a token.
   */
  | {
      readonly kind: 'retry_at';
      readonly notBeforeMs: number;
      readonly inPlace: boolean;
      readonly uncounted?: boolean;
    }
  /** The next run, same id; costs neither attempt nor token. */
  | { readonly kind: 'defer'; readonly notBeforeMs: number }
  /** Parked until the host's owner resumes it. */
  | { readonly kind: 'hold' }
  /**
   * The attempt goes on at another host (redirect), not before `notBeforeMs` when one is given, or this was a robots
   * fetch: only the lease ends. `uncounted`: a result that cannot be handed over yet; should the page be fetched again for
   * it, that takes neither an attempt nor a token, three times in a job's life.
   */
  | { readonly kind: 'continue'; readonly notBeforeMs?: number; readonly uncounted?: boolean }
  /** The attempt was given back unsent or cut by shutdown: the job waits as before. The attempt stays counted. */
  | { readonly kind: 'release' };

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

/** A proxy that fails takes no attempt and no token from its jobs: the host has seen nothing. */
function isUncounted({ outcome, unsent }: PlanInput): boolean {
  return unsent === true && outcome.source === 'proxy';
}

function attemptsEnd(input: PlanInput): Step | null {
  const { job, redirect } = input;
  const attemptsMax = attemptsMaxOf(input);
  if (attemptsMax === null || redirect !== null || isUncounted(input) || job.attempts < attemptsMax)
    return null;
  return stop('attempts', { code: 'attempts_used', attempts: job.attempts, attemptsMax });
}

/**
 * 500 without a wait says that this page is broken, not that its server is busy: to try it as long as a 503 would hold
 * a run for minutes, and spend what the host's other pages may need. With a wait the server says itself that it passes.
 */
function attemptsMaxOf(input: PlanInput): number | null {
  const { totalMax, serverErrorMax } = input.policy.attempts;
  const { status, outcome, job } = input;
  const broken = status === 500 && outcome.class === 'unavailable' && bindingOf(input).kind !== 'delay';
  // Attempts that were throttled say nothing about the page, and the ledger does not tell them apart for ever.
  const throttled = job.throttledInRun > 0 || job.deferrals > 0;
  if (!broken || throttled || serverErrorMax === null) return totalMax;
  return totalMax === null ? serverErrorMax : Math.min(totalMax, serverErrorMax);
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
  const uncounted = isUncounted(input) ? { uncounted: true } : {};
  return {
    jobEffect: { kind: 'retry_at', notBeforeMs, inPlace, ...uncounted },
    reason: { code: 'retry', binding },
  };
}

function deferred({ job, policy }: PlanInput, notBeforeMs: number, reason: PlanReason): Step {
  const deferralsMax = policy.defer.countMax;
  if (deferralsMax !== null && job.deferrals >= deferralsMax) {
    return stop('deferrals', { code: 'deferrals_used', deferrals: job.deferrals, deferralsMax });
  }
  return { jobEffect: { kind: 'defer', notBeforeMs }, reason };
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

/**
 * What a re-send would be refused for at dispatch. A redirect hop is part of an attempt already paid for. The
 * host's bucket is for sick hosts: after a 429, cooldown and pace govern the re-send, and a slow host would
 * otherwise lose URLs while its pace is still being found.
 */
function budgetEnd(input: PlanInput): Step | null {
  const { job, outcome, spend, redirect } = input;
  const limit = spend === null ? null : spendReached(spend.limits, spend.spent);
  if (limit !== null) return stop('spend', { code: 'spend', limit });
  if (redirect !== null || isUncounted(input)) return null;
  const hostTokensLeft = outcome.class === 'throttled' ? null : job.hostTokensLeft;
  const bucket = emptyBucket(job.batchTokensLeft, hostTokensLeft);
  return bucket === null ? null : stop('retry_budget', { code: 'no_tokens', bucket });
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
