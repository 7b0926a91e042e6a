import type { Outcome, OutcomeClass } from '../core/classify-outcome.ts';
import type { Policy } from '../core/policy.ts';
import { type JobFacts, type Plan, planRetry } from '../core/plan-retry.ts';
import type { ServerWait } from '../core/server-wait.ts';

/** One result in a simulation, planned at the instant of its receipt. */
export interface SimulatedResult {
  readonly policy: Policy;
  readonly outcome: OutcomeClass;
  readonly wait: ServerWait;
  readonly nowMs: number;
  readonly draw01: number;
  readonly job: Partial<JobFacts>;
}

/** The planner's answer for a job that nothing but the given facts can stop. */
export function planSimulated({ policy, outcome, wait, nowMs, draw01, job }: SimulatedResult): Plan {
  return planRetry({
    outcome: outcomeOf(outcome),
    wait,
    rateLimit: null,
    redirect: null,
    method: 'GET',
    cancelled: false,
    approved: true,
    job: { ...FREE_JOB, ...job },
    spend: null,
    policy: { ...policy, deadline: { ...policy.deadline, required: false } },
    draw01,
    nowMs,
    receivedAtMs: nowMs,
    storedNotBeforeMs: null,
  });
}

const FREE_JOB: JobFacts = {
  attempts: 1,
  run: 1,
  throttledInRun: 0,
  deferrals: 0,
  startedAtMs: 0,
  deadlineMs: 0,
  notBeforeMs: 0,
  noHintEvents: 0,
  cooldownUntilMs: 0,
  openUntilMs: 0,
  batchTokensLeft: null,
  hostTokensLeft: null,
};

function outcomeOf(outcomeClass: OutcomeClass): Outcome {
  return { class: outcomeClass, source: 'destination', stop: null, detail: outcomeClass };
}

export function secondsWait(seconds: number): ServerWait {
  return { kind: 'delay', seconds, source: 'retry-after' };
}
