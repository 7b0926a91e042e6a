import type { Outcome } from './classify-outcome.ts';
import { bindingWait, type RateLimitHint } from './host-effect.ts';
import type { Policy } from './policy.ts';
import type { SpendLimits, Spent } from './retry-budget.ts';
import type { ServerWait } from './server-wait.ts';

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

export interface PlanInput {
  readonly outcome: Outcome;
  /** What the response said about waiting, read by the parser the policy names. */
  readonly wait: ServerWait;
  /** A live RateLimit hint of the response, passed on to the fleet. */
  readonly rateLimit: RateLimitHint | null;
  /** The answer is a redirect to be followed; `hop` counts from 1. null: it is not. */
  readonly redirect: { readonly hop: number } | null;
  readonly method: string;
  /** HTTP status of the answer; absent or 0: none. */
  readonly status?: number;
  /** It is certain that nothing of the request reached the host: its proxy failed. Absent: false. */
  readonly unsent?: boolean;
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

/** The wait of the response, where a response of this kind can bind us at all. */
export function bindingOf(input: PlanInput): ServerWait {
  return bindingWait(input.outcome, input.redirect !== null, input.wait);
}
