import type { LearnPolicy, Policy } from '../core/policy.ts';
import type { SpendLimits } from '../core/retry-budget.ts';
import type { BatchDefaults, HostRules } from './gate.ts';

/** A lease outlives its attempt by this much: time to settle, and for a frozen worker to notice. */
const LEASE_MARGIN_MS = 5000;

/** Shorter than a trip of the job through the queue (50 ms median, 100 ms at the 95th percentile), with room. */
const INLINE_MAX_MS = 250;

/** The numbers of a host's policy that travel with each admission and settlement. Rates become intervals. */
export function hostRulesOf(policy: Policy): HostRules {
  const { pace, circuit, deadline } = policy;
  return {
    concurrency: policy.concurrency,
    paceIntervalMs: pace.intervalMs ?? 0,
    learn: pace.learn === null ? null : learnRulesOf(pace.learn),
    circuit: circuit === null ? null : { ...circuit, eventsMax: circuit.eventsMax ?? 0 },
    ramp: policy.ramp,
    hostTokens: policy.hostTokens,
    attemptMs: deadline.attemptMs,
    headroomMs: deadline.headroomMs,
    leaseMarginMs: LEASE_MARGIN_MS,
    inlineMaxMs: INLINE_MAX_MS,
  };
}

function learnRulesOf(learn: LearnPolicy): NonNullable<HostRules['learn']> {
  return {
    startIntervalMs: intervalMs(learn.startPerSecond),
    floorIntervalMs: intervalMs(learn.floorPerSecond),
    ceilingIntervalMs: learn.ceilingPerSecond === null ? 0 : intervalMs(learn.ceilingPerSecond),
    doubleAfterSuccesses: learn.doubleAfterSuccesses,
    doubleAfterMs: learn.doubleAfterMs,
    decrease: learn.decrease,
    recoveryLeastMs: learn.recoveryLeastMs,
    recoveryPauses: learn.recoveryPauses,
    recoveryMostMs: learn.recoveryMostMs,
    keepMs: learn.keepMs,
  };
}

/** Whole milliseconds, rounded up: a rounded interval may be slower than the rate, never faster. */
function intervalMs(perSecond: number): number {
  return Math.ceil(1000 / perSecond);
}

/** What the batch itself says; null: the policy decides. */
export interface BatchRequest {
  readonly tokens: number | null;
  readonly approved: boolean | null;
  readonly owner: string;
  /** Absolute; null: none for the batch as a whole, each job has its own. */
  readonly deadlineMs: number | null;
  readonly spend: SpendLimits;
}

/** How a batch begins under a policy. */
export function batchDefaultsOf(policy: Policy, request: BatchRequest): BatchDefaults {
  return {
    tokens: batchTokensOf(policy, request.tokens),
    approved: request.approved ?? policy.approvals !== 'explicit',
    owner: request.owner,
    deadlineMs: request.deadlineMs ?? 0,
    spend: request.spend,
  };
}

function batchTokensOf({ batchTokens }: Policy, named: number | null): BatchDefaults['tokens'] {
  if (named !== null) return { kind: 'fixed', total: named };
  return batchTokens.kind === 'explicit' ? { kind: 'fixed', total: 0 } : batchTokens;
}
