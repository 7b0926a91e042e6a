import {
  classifyAnswer,
  classifyFault,
  explainReason,
  type Outcome,
  type Plan,
  planRetry,
  type Policy,
  readServerWait,
  type ServerWait,
} from '@holdoff/throttle-core';
import type { PlanCase } from './plan-case.ts';

/** What is decided for a case, with what it was decided from. */
export interface Decision {
  readonly name: DecisionName;
  readonly plan: Plan;
  readonly outcome: Outcome;
  readonly wait: ServerWait;
  readonly nowMs: number;
  readonly case: PlanCase;
  readonly policy: Policy;
  /** `preset balanced`, or the policy file and host. */
  readonly policyName: string;
}

export type DecisionName = 'DONE' | 'STOP' | 'WAIT_THEN_RECHECK' | 'HOLD' | 'FOLLOW_REDIRECT' | 'GIVE_BACK';

const NAMES: Readonly<Record<Plan['jobEffect']['kind'], DecisionName>> = {
  done: 'DONE',
  stop: 'STOP',
  // A wait that has run out is permission to ask again, not to send: hence the name.
  retry_at: 'WAIT_THEN_RECHECK',
  defer: 'WAIT_THEN_RECHECK',
  hold: 'HOLD',
  continue: 'FOLLOW_REDIRECT',
  release: 'GIVE_BACK',
};

export interface NamedPolicy {
  readonly policy: Policy;
  readonly name: string;
}

/** Plans a case: the same reading, classification and planning as in a worker, at the instant given. */
export function decideCase(asked: PlanCase, base: NamedPolicy, nowMs: number): Decision {
  const policy = policyFor(asked, base.policy);
  const headers = headersOf(asked);
  const head = { status: asked.status ?? DEFAULT_STATUS, headers, receivedAtMs: nowMs };
  const hints =
    asked.fault === undefined
      ? readServerWait(head, policy.retryAfter)
      : { wait: { kind: 'absent' as const }, rateLimit: null };
  const outcome =
    asked.fault === undefined
      ? classifyAnswer({ ...head, route: 'direct', body: null })
      : classifyFault({ code: asked.fault, phase: 'connect', route: 'direct' });
  const plan = planRetry({
    outcome,
    wait: hints.wait,
    rateLimit: hints.rateLimit,
    redirect: asked.redirectHop === undefined ? null : { hop: asked.redirectHop },
    method: asked.method,
    cancelled: asked.cancelled,
    approved: asked.approved,
    job: factsOf(asked, policy, nowMs),
    spend: null,
    policy,
    draw01: asked.draw,
    nowMs,
    receivedAtMs: nowMs,
    storedNotBeforeMs: null,
  });
  return {
    name: NAMES[plan.jobEffect.kind],
    plan,
    outcome,
    wait: hints.wait,
    nowMs,
    case: asked,
    policy,
    policyName: base.name,
  };
}

const DEFAULT_STATUS = 429;

function policyFor(asked: PlanCase, base: Policy): Policy {
  const { attempts, deadline, backoff } = base;
  const { maxAttempts = attempts.totalMax, attemptBudget, headroom, base: baseMs, cap } = asked;
  return {
    ...base,
    attempts: { ...attempts, totalMax: maxAttempts },
    deadline: {
      ...deadline,
      attemptMs: attemptBudget ?? deadline.attemptMs,
      headroomMs: headroom ?? deadline.headroomMs,
    },
    backoff: { ...backoff, baseMs: baseMs ?? backoff.baseMs, capMs: cap ?? backoff.capMs },
  };
}

function factsOf(asked: PlanCase, policy: Policy, nowMs: number): Parameters<typeof planRetry>[0]['job'] {
  const startedAtMs = nowMs - asked.elapsed;
  const lifeMs = asked.deadline === undefined ? policy.deadline.jobMs : asked.deadline;
  return {
    attempts: asked.attempts,
    run: 1,
    throttledInRun: asked.throttledInRun,
    deferrals: asked.deferrals,
    startedAtMs,
    deadlineMs: lifeMs === null ? 0 : startedAtMs + lifeMs,
    notBeforeMs: 0,
    noHintEvents: asked.hintlessEvents,
    cooldownUntilMs: asked.cooldown === 0 ? 0 : nowMs + asked.cooldown,
    openUntilMs: asked.circuitOpen === 0 ? 0 : nowMs + asked.circuitOpen,
    batchTokensLeft: asked.tokens,
    hostTokensLeft: asked.hostTokens,
  };
}

function headersOf({ headers, retryAfter }: PlanCase): Record<string, readonly string[]> {
  const named = Object.entries(headers).map(([name, lines]) => [name.toLowerCase(), lines] as const);
  const merged: Record<string, readonly string[]> = {};
  for (const [name, lines] of named) merged[name] = [...(merged[name] ?? []), ...lines];
  return retryAfter === undefined ? merged : { ...merged, 'retry-after': retryAfter };
}

/** Seconds until the next attempt may be asked for; null: there is none to come. */
export function waitSecondsOf({ plan, nowMs }: Decision): number | null {
  return plan.notBeforeMs === null ? null : (plan.notBeforeMs - nowMs) / 1000;
}

/** The decision for programs. Instants are ISO 8601 in UTC, durations seconds. */
export function decisionJson(decision: Decision): Record<string, unknown> {
  const { name, plan, outcome, wait, policyName } = decision;
  const { hostEffect, jobEffect } = plan;
  return {
    decision: name,
    waitSeconds: waitSecondsOf(decision),
    slackSeconds: plan.slackMs === null ? null : plan.slackMs / 1000,
    notBefore: plan.notBeforeMs === null ? null : isoOf(plan.notBeforeMs),
    stopReason: jobEffect.kind === 'stop' ? jobEffect.reason : null,
    why: explainReason(plan.reason),
    reason: plan.reason,
    jobEffect,
    hostEffect,
    outcome,
    serverWait: wait,
    policy: policyName,
  };
}

/** ISO 8601 to the second where that is exact. The far end of what a date can be stands for everything after it. */
export function isoOf(instantMs: number): string {
  return new Date(Math.min(instantMs, INSTANT_MOST_MS)).toISOString().replace('.000Z', 'Z');
}

const INSTANT_MOST_MS = 8_640_000_000_000_000;
