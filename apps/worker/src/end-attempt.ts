import {
  costMicrosOf,
  explainReason,
  type JobEffect,
  type JobEnd,
  type SettleReply,
  type SettleRequest,
  type StopReason,
} from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import type { Attempt } from './attempt.ts';
import { type Answered, evidenceOf } from './decide-step.ts';
import { DeliveryFault, type DeliveredPage, type EndedUrl, NO_PAGE } from './deliver-result.ts';
import { repeatGateCall, settlementRepeats } from './repeat-gate-call.ts';
import type { HopPosition } from './redirect/next-hop.ts';
import { safeUrl } from './safe-url.ts';

/** How long a job waits that could not be handed over or settled for a fault of ours. */
const LOCAL_FAULT_PAUSE_MS = 5_000;

const NEVER = new AbortController().signal;

/**
 * Ends an attempt: hands the result over, then settles, so that a crash between the two repeats the URL and
 * never loses it. Says where the queue job goes.
 */
export async function endAttempt(attempt: Attempt, answered: Answered): Promise<Disposition> {
  const { jobEffect } = answered.step.plan;
  const end = endOf(jobEffect);
  if (end !== null) {
    // Another worker may have the job by now, and its result is the one that counts.
    if (outlivedItsLease(attempt, answered)) return giveBack(attempt, answered);
    const fault = await handOver(
      attempt,
      resultOf(attempt, answered, end),
      pageOf(attempt, answered),
      answered.verdict?.kind === 'useful' ? answered.verdict.follow : [],
    );
    if (fault) return giveBack(attempt, answered);
    if (answered.target.hops === 0)
      await attempt.parts.remember(attempt.job.url, attempt.job.headersRef, answered.exchange);
  }
  const reply = await settle(attempt, answered, effectOf(answered));
  if (end !== null && reply.kind === 'settled') {
    attempt.parts.events.ended(
      end.kind === 'done' ? { outcome: 'done', reason: null } : { outcome: 'stopped', reason: end.reason },
    );
    return { kind: 'complete', end };
  }
  return whereNext(attempt, answered, reply);
}

/** Leaves the host that redirected: its lease ends, the attempt goes on elsewhere. */
export async function leaveHost(attempt: Attempt, answered: Answered): Promise<void> {
  await settle(attempt, answered, { kind: 'continue' });
}

/** Ends a job that holds no lease: it was refused, or judged before anything was sent. */
export async function endUnsent(
  attempt: Attempt,
  url: string,
  reason: StopReason,
  detail: string,
): Promise<Disposition> {
  const { gate, call, events } = attempt.parts;
  const end: JobEnd = { kind: 'stopped', reason };
  const [nowMs, known] = await Promise.all([gate.now(), gate.inspectJob(attempt.delivery.job)]);
  const ended: EndedUrl = {
    ...identityOf(attempt, 0),
    // Earlier attempts count, also where this delivery made none.
    attempts: known?.facts.attempts ?? 0,
    finalUrl: url,
    outcome: 'stopped',
    useful: false,
    reason,
    detail,
    status: 0,
    contentType: null,
    bodyBytes: 0,
    bodyState: 'none',
    data: null,
    endedAt: new Date(nowMs).toISOString(),
  };
  if (await handOver(attempt, ended, NO_PAGE)) return pauseFor(attempt, LOCAL_FAULT_PAUSE_MS);
  const reply = await gate.finish({
    job: attempt.delivery.job,
    batch: attempt.batch,
    delivery: attempt.delivery.number,
    end,
    evidence: detail.slice(0, 300),
  });
  call(reply.call);
  if (reply.kind === 'stale') return { kind: 'abandon' };
  if (reply.kind === 'finished') events.ended({ outcome: 'stopped', reason });
  return { kind: 'complete', end: reply.end ?? end };
}

async function pauseFor(attempt: Attempt, waitMs: number): Promise<Disposition> {
  return { kind: 'delay', untilMs: (await attempt.parts.gate.now()) + waitMs, data: null };
}

/** A redirect that must wait is a job with an instant of its own, not one more attempt. */
function effectOf({ step: { plan } }: Answered): JobEffect {
  if (plan.jobEffect.kind !== 'continue' || plan.notBeforeMs === null) return plan.jobEffect;
  return { kind: 'continue', notBeforeMs: plan.notBeforeMs };
}

/**
 * True: the result could not be written. A full disk is no fault of the host. The URLs to follow go first: entering
 * them again changes nothing, while a second line would be a duplicate.
 */
async function handOver(
  attempt: Attempt,
  ended: EndedUrl,
  page: DeliveredPage,
  links: readonly string[] = [],
): Promise<boolean> {
  const { parts, job } = attempt;
  try {
    let { detail } = ended;
    if (links.length > 0) {
      const { refused } = await parts.enterFollowUps(job, ended.finalUrl, links);
      if (refused > 0) detail += `; ${refused} of ${links.length} follow-up URLs refused`;
    }
    await parts.deliver({ ...ended, detail }, page);
    if (ended.outcome === 'stopped') await parts.recordStopped(job, ended);
    return false;
  } catch (error) {
    if (!(error instanceof DeliveryFault)) throw error;
    parts.events.deliveryFault(error);
    return true;
  }
}

/** This process was frozen: its lease, counted from the question, the earliest instant at which it can have begun, is over. */
function outlivedItsLease({ parts }: Attempt, { admitted }: Answered): boolean {
  return parts.monotonicMs() - admitted.askedAtMonotonicMs >= admitted.leaseMs;
}

async function giveBack(attempt: Attempt, answered: Answered): Promise<Disposition> {
  const reply = await settle(attempt, answered, { kind: 'release' });
  return { kind: 'delay', untilMs: reply.nowMs + LOCAL_FAULT_PAUSE_MS, data: null };
}

async function settle(attempt: Attempt, answered: Answered, jobEffect: JobEffect): Promise<SettleReply> {
  const { admitted, exchange, hints, step, target } = answered;
  const { gate, call, lookWithin, events, sleep } = attempt.parts;
  const used = { requests: exchange.sent ? 1 : 0, bytes: exchange.wireBytes };
  const request: SettleRequest = {
    job: attempt.delivery.job,
    host: target.scope.host,
    batch: attempt.batch,
    leaseId: admitted.leaseId,
    nonce: attempt.nonce(),
    delivery: attempt.delivery.number,
    outcome: exchange.outcome.class,
    hostEffect: step.plan.hostEffect,
    jobEffect,
    rules: target.scope.rules,
    spent: { ...used, costMicros: costMicrosOf(target.scope.prices, used) },
    latencyMs: Math.round(exchange.latencyMs),
    evidence: evidenceOf(exchange, hints, step.plan, target.scope.policyVersion),
  };
  // Not with the delivery's signal: what was sent is settled, whatever ended the attempt.
  const reply = await repeatGateCall(
    () => gate.settle(request),
    settlementRepeats(step.plan.hostEffect.cooldownUntilMs - admitted.admittedAtMs - exchange.durationMs),
    (ms) => sleep(ms, NEVER),
  );
  call(reply.call);
  if (reply.lookAtMs !== null) lookWithin(reply.lookAtMs - reply.nowMs);
  events.attempt({
    job: attempt.delivery.job,
    batch: attempt.batch,
    host: target.scope.host,
    url: safeUrl(target.url),
    attempt: admitted.attempt,
    hop: target.hops,
    probe: admitted.probe,
    outcome: exchange.outcome.class,
    source: exchange.outcome.source,
    status: exchange.status,
    detail: exchange.outcome.detail,
    bytes: exchange.wireBytes,
    durationMs: Math.round(exchange.durationMs),
    decision: reply.kind === 'late' ? `${jobEffect.kind} (late)` : jobEffect.kind,
    reason: explainReason(step.plan.reason),
    notBeforeMs: step.plan.notBeforeMs ?? 0,
    deadlineMs: admitted.facts.deadlineMs,
  });
  return reply;
}

function whereNext(attempt: Attempt, answered: Answered, reply: SettleReply): Disposition {
  // Late without an instant: the result ended the job, or another delivery has it. Its data is not ours to write.
  if (reply.kind === 'late' && reply.job === null) return { kind: 'abandon' };
  const data = goesOnWith(attempt.job, answered);
  return { kind: 'delay', untilMs: reply.job?.dueMs ?? reply.nowMs, data };
}

/** What the queue job carries into its next delivery; null: what it has. */
function goesOnWith(job: UrlJob, { step, target }: Answered): UrlJob | null {
  if (step.kind === 'conclude' && step.next !== null) return withHop(job, step.next, false);
  if (target.hops === 0) return null;
  return withHop(job, { url: target.url, hops: target.hops, visited: target.visited }, true);
}

export function withHop(job: UrlJob, next: HopPosition, asked: boolean): UrlJob {
  return { ...job, hop: { url: next.url, count: next.hops, visited: next.visited, asked } };
}

function endOf(effect: JobEffect): JobEnd | null {
  if (effect.kind === 'done') return { kind: 'done' };
  return effect.kind === 'stop' ? { kind: 'stopped', reason: effect.reason } : null;
}

function resultOf(attempt: Attempt, answered: Answered, end: JobEnd): EndedUrl {
  const { admitted, exchange, step, target, verdict } = answered;
  return {
    ...identityOf(attempt, admitted.attempt),
    finalUrl: target.url,
    outcome: end.kind === 'done' ? 'done' : 'stopped',
    useful: end.kind === 'done' && verdict?.kind !== 'not_useful',
    reason: end.kind === 'done' ? null : end.reason,
    detail:
      end.kind === 'done'
        ? exchange.outcome.detail
        : `${exchange.outcome.detail}; ${explainReason(step.plan.reason)}`,
    status: exchange.status,
    contentType: exchange.headers['content-type']?.[0] ?? null,
    bodyBytes: exchange.body.length,
    bodyState: exchange.bodyState,
    data: verdict?.kind === 'useful' && verdict.data !== null ? (JSON.parse(verdict.data) as unknown) : null,
    endedAt: new Date(admitted.admittedAtMs + exchange.durationMs).toISOString(),
  };
}

function pageOf({ job }: Attempt, { exchange }: Answered): DeliveredPage {
  return { method: job.method, headers: exchange.headers, body: exchange.body };
}

function identityOf(
  attempt: Attempt,
  number: number,
): Pick<EndedUrl, 'key' | 'job' | 'batch' | 'url' | 'attempts'> {
  return {
    key: `${attempt.delivery.job}.${number}`,
    job: attempt.delivery.job,
    batch: attempt.batch,
    url: attempt.job.url,
    attempts: number,
  };
}
