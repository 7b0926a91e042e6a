import {
  explainReason,
  type JobFacts,
  type Plan,
  planRetry,
  readServerWait,
  type ServerHints,
  type StopReason,
} from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';
import type { Admitted } from './ask-gate.ts';
import type { Attempt, Scope, Target } from './attempt.ts';
import type { PageExchange } from './fetch-page.ts';
import type { HandlerVerdict } from './handler/handler-verdict.ts';
import { type HopPosition, type HopVerdict, nextHop } from './redirect/next-hop.ts';

/** What comes after one exchange. */
type Step =
  /** A redirect that goes on at once, at the gate of its own host. */
  | { readonly kind: 'follow'; readonly plan: Plan; readonly next: HopPosition }
  /** The delivery is over. `next`: the redirect target at which a later delivery goes on; null: where this one asked. */
  | { readonly kind: 'conclude'; readonly plan: Plan; readonly next: HopPosition | null };

/** One answered request and what was concluded from it. */
export interface Answered {
  readonly target: Target;
  readonly admitted: Admitted;
  readonly exchange: PageExchange;
  readonly hints: ServerHints;
  readonly step: Step;
  /** What the handler made of the page; absent: it did not see it. */
  readonly verdict?: HandlerVerdict;
}

interface StepInput {
  readonly job: UrlJob;
  readonly scope: Scope;
  readonly facts: JobFacts;
  readonly exchange: PageExchange;
  readonly hints: ServerHints;
  /** The redirect target, resolved and checked; null: not a redirect. */
  readonly next: HopPosition | null;
  readonly draw01: number;
  readonly nowMs: number;
  readonly receivedAtMs: number;
}

/** Reads one exchange on the gate's clock and decides. Called at once when the exchange is over: it takes the time then. */
export function answerOf(
  attempt: Attempt,
  target: Target,
  admitted: Admitted,
  exchange: PageExchange,
): Answered {
  const { monotonicMs, random01 } = attempt.parts;
  // The admission cannot be later than the question plus what has passed since: an instant made from it is on
  // the gate's clock, never too early, and this machine's wall clock does not matter.
  const nowMs = admitted.admittedAtMs + (monotonicMs() - admitted.askedAtMonotonicMs);
  const receivedAtMs = nowMs - Math.max(0, exchange.durationMs - exchange.latencyMs);
  const { status, headers } = exchange;
  const hints = readServerWait({ status, headers, receivedAtMs }, target.scope.policy.retryAfter);
  const verdict = exchange.redirectTo === null ? null : judgeHop(attempt, target, exchange.redirectTo);
  const judged = verdict?.kind === 'stop' ? withStop(exchange, verdict.reason, verdict.detail) : exchange;
  const step = decideStep({
    job: attempt.job,
    scope: target.scope,
    facts: admitted.facts,
    exchange: judged,
    hints,
    next: verdict?.kind === 'hop' ? verdict.next : null,
    draw01: random01(),
    nowMs,
    receivedAtMs,
  });
  return { target, admitted, exchange: judged, hints, step };
}

/** Also whether the target may be fetched at all: a hop that is parked has to be one that can go on. */
function judgeHop({ parts }: Attempt, from: Target, to: string): HopVerdict {
  const verdict = nextHop(from, to, from.scope.policy.redirects.hopsMax);
  const refused = verdict.kind === 'hop' ? parts.refuseUrl(verdict.next.url) : null;
  return refused === null
    ? verdict
    : { kind: 'stop', reason: refused.reason, detail: `the redirect leads elsewhere: ${refused.detail}` };
}

/** The host answered well; it is the job that cannot go on. */
function withStop(exchange: PageExchange, stop: StopReason, detail: string): PageExchange {
  return {
    ...exchange,
    outcome: { ...exchange.outcome, stop, detail: `${exchange.outcome.detail}; ${detail}` },
  };
}

/** Turns one exchange into the fleet's lesson and the job's next step. Pure. */
function decideStep(input: StepInput): Step {
  const { exchange, hints, next, facts, scope } = input;
  const plan = planRetry({
    outcome: exchange.outcome,
    wait: hints.wait,
    rateLimit: hints.rateLimit,
    redirect: next === null ? null : { hop: next.hops },
    method: input.job.method,
    status: exchange.status,
    unsent: isUnsent(exchange),
    // The gate checks the batch's consent and its budget of money and bytes at each admission.
    cancelled: false,
    approved: true,
    spend: null,
    job: facts,
    policy: scope.policy,
    draw01: input.draw01,
    nowMs: input.nowMs,
    receivedAtMs: input.receivedAtMs,
    storedNotBeforeMs: null,
  });
  if (next === null || plan.jobEffect.kind === 'stop') return { kind: 'conclude', plan, next: null };
  const waits = plan.jobEffect.kind !== 'continue' || (plan.notBeforeMs ?? 0) > input.nowMs;
  return waits ? { kind: 'conclude', plan, next } : { kind: 'follow', plan, next };
}

/** Nothing of the request reached the host, as far as its proxy tells. */
function isUnsent({ sent, proxyFailure }: PageExchange): boolean {
  return !sent || proxyFailure === 'credentials';
}

/** One bounded line for the decision trail: what was seen, what was concluded, under which policy. */
export function evidenceOf(
  exchange: PageExchange,
  hints: ServerHints,
  plan: Plan,
  policyVersion: number,
): string {
  const wait =
    hints.wait.kind === 'delay'
      ? `${hints.wait.source}: ${hints.wait.seconds} s`
      : hints.wait.kind === 'malformed'
        ? 'a wait that cannot be read'
        : 'no wait named';
  return `${exchange.outcome.detail}; ${wait}; ${explainReason(plan.reason)}; policy v${policyVersion}`.slice(
    0,
    300,
  );
}
