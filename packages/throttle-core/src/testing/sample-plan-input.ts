import type { Outcome, OutcomeClass } from '../core/classify-outcome.ts';
import type { JobFacts, PlanInput } from '../core/plan-retry.ts';
import type { Policy } from '../core/policy.ts';
import { PRESETS } from '../core/presets.ts';
import type { ServerWait } from '../core/server-wait.ts';

/** The instant at which sample results are received and planned: 2026-01-15T12:00:00Z. */
export const SAMPLE_NOW_MS = 1_768_478_400_000;

/** The facts of a job after its first attempt, one day before its deadline, with all buckets filled. */
export function sampleJobFacts(facts: Partial<JobFacts> = {}): JobFacts {
  return {
    attempts: 1,
    run: 1,
    throttledInRun: 0,
    deferrals: 0,
    startedAtMs: SAMPLE_NOW_MS - 1000,
    deadlineMs: SAMPLE_NOW_MS + 86_400_000,
    notBeforeMs: 0,
    noHintEvents: 0,
    cooldownUntilMs: 0,
    openUntilMs: 0,
    batchTokensLeft: 10,
    hostTokensLeft: 5,
    ...facts,
  };
}

/** A plan input that says "429, no wait, first attempt, default policy" until told otherwise. */
export function samplePlanInput(input: Partial<PlanInput> = {}): PlanInput {
  return {
    outcome: sampleOutcome('throttled'),
    wait: { kind: 'absent' },
    rateLimit: null,
    redirect: null,
    method: 'GET',
    cancelled: false,
    approved: true,
    job: sampleJobFacts(),
    spend: null,
    policy: PRESETS.balanced,
    draw01: 0.5,
    nowMs: SAMPLE_NOW_MS,
    receivedAtMs: SAMPLE_NOW_MS,
    storedNotBeforeMs: null,
    ...input,
  };
}

/** An outcome of a class, from the destination and with nothing that ends the job by itself. */
export function sampleOutcome(outcomeClass: OutcomeClass, outcome: Partial<Outcome> = {}): Outcome {
  return { class: outcomeClass, source: 'destination', stop: null, detail: outcomeClass, ...outcome };
}

/** A wait read from Retry-After. */
export function waitSeconds(seconds: number): ServerWait {
  return { kind: 'delay', seconds, source: 'retry-after' };
}

type PolicyGroup = 'retryAfter' | 'backoff' | 'attempts' | 'deadline' | 'defer' | 'redirects';

/** The default policy with some fields of its groups replaced. */
export function samplePolicy(change: { readonly [Group in PolicyGroup]?: Partial<Policy[Group]> }): Policy {
  const base: Policy = PRESETS.balanced;
  return {
    ...base,
    retryAfter: { ...base.retryAfter, ...change.retryAfter },
    backoff: { ...base.backoff, ...change.backoff },
    attempts: { ...base.attempts, ...change.attempts },
    deadline: { ...base.deadline, ...change.deadline },
    defer: { ...base.defer, ...change.defer },
    redirects: { ...base.redirects, ...change.redirects },
  };
}
