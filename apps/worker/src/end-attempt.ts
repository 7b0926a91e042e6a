import {
  costMicrosOf,
  explainReason,
  type JobEffect,
  type JobEnd,
  type JobFacts,
  type SettleReply,
  type SettleRequest,
  type StopReason,
} from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import type { Attempt } from './attempt.ts';
import { type Answered, evidenceOf } from './decide-step.ts';
import { type DeliveredPage, type EndedUrl, NO_PAGE } from './deliver-result.ts';
import { type FollowedLinks, HandOver } from './hand-over.ts';
import { repeatGateCall, settlementRepeats } from './repeat-gate-call.ts';
import type { HopPosition } from './redirect/next-hop.ts';
import { safeUrl } from './safe-url.ts';

/** How long a job waits that could not be handed over or settled for a fault of ours. */
const LOCAL_FAULT_PAUSE_MS = 5_000;

const EVIDENCE_CHARACTERS_MAX = 300;

const NEVER = new AbortController().signal;

/**
 * Ends an attempt. Says where the queue job goes.
 *
 * What the fleet must learn of the host goes first: a cooldown that waited for a slow webhook would let the other
 * workers send into it. Then the result is handed over, and only then does the job end, so that a crash in between
 * repeats the URL and never loses it. `read`: what the user's handler makes of the page, which may take its time too.
 */
export async function endAttempt(
  attempt: Attempt,
  answered: Answered,
  read: () => Promise<Answered> = async () => answered,
): Promise<Disposition> {
  if (endOf(answered.step.plan.jobEffect) === null) return conclude(attempt, answered);
  let left = teachesTheFleet(answered);
  if (left) {
    const { kind } = answered.step.plan.jobEffect;
    const reply = await settle(attempt, answered, { kind: 'continue', uncounted: kind === 'done' }, kind);
    if (reply.kind === 'late') return { kind: 'abandon' };
  }
  const judged = await read();
  const end = endOf(judged.step.plan.jobEffect);
  if (end === null) return left ? pauseFor(attempt, 0) : conclude(attempt, judged);
  // Another worker may have the job by now, and its result is the one that counts.
  if (outlivedItsLease(attempt, judged))
    return left ? pauseFor(attempt, LOCAL_FAULT_PAUSE_MS) : giveBack(attempt, judged);

  const { verdict } = judged;
  const follow: FollowedLinks =
    verdict?.kind !== 'useful'
      ? { links: [] }
      : { links: verdict.follow, ...(verdict.followAs === undefined ? {} : { reads: verdict.followAs }) };
  const handOver = new HandOver(attempt, resultOf(attempt, judged, end), pageOf(attempt, judged), follow);
  if (!(await handOver.try())) {
    // A slot is not for waiting. Should the page be fetched again after all, nobody pays for it.
    if (!left) await settle(attempt, judged, { kind: 'continue', uncounted: true });
    left = true;
    if (!(await handOver.tryAgain())) return pauseFor(attempt, LOCAL_FAULT_PAUSE_MS);
  }
  const disposition = left
    ? await finish(attempt, end, evidenceFor(judged))
    : await conclude(attempt, judged);
  // Last: while Redis is away this waits for it, and nothing that the gate must learn may wait behind it.
  if (judged.target.hops === 0 && attempt.job.reads === undefined)
    await attempt.parts.remember(attempt.job.url, attempt.headersRef, judged.exchange);
  return disposition;
}

/** Settles at the host and at the job at once. */
async function conclude(attempt: Attempt, answered: Answered): Promise<Disposition> {
  const reply = await settle(attempt, answered, effectOf(answered));
  const end = endOf(answered.step.plan.jobEffect);
  if (end === null || reply.kind !== 'settled') return whereNext(attempt, answered, reply);
  tellEnd(attempt, end);
  return { kind: 'complete', end };
}

/** Ends the job of an attempt that has left its host already. */
async function finish(attempt: Attempt, end: JobEnd, evidence: string): Promise<Disposition> {
  const { gate, call, sleep } = attempt.parts;
  const request = {
    job: attempt.delivery.job,
    batch: attempt.batch,
    delivery: attempt.delivery.number,
    end,
    evidence,
  };
  const reply = await repeatGateCall(
    () => gate.finish(request),
    settlementRepeats(0),
    (ms) => sleep(ms, NEVER),
  );
  call(reply.call);
  if (reply.kind === 'stale') return { kind: 'abandon' };
  if (reply.kind === 'finished') tellEnd(attempt, end);
  return { kind: 'complete', end: reply.end ?? end };
}

function tellEnd({ parts }: Attempt, end: JobEnd): void {
  parts.events.ended(
    end.kind === 'done' ? { outcome: 'done', reason: null } : { outcome: 'stopped', reason: end.reason },
  );
}

/** Other workers would act otherwise if they knew this result. */
function teachesTheFleet({ exchange, step: { plan } }: Answered): boolean {
  const { cooldownUntilMs, noHint, hold, rateLimit } = plan.hostEffect;
  const closes = cooldownUntilMs > 0 || noHint || hold !== null || rateLimit?.remaining === 0;
  return closes || exchange.outcome.class === 'throttled';
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
  const { gate } = attempt.parts;
  const end: JobEnd = { kind: 'stopped', reason };
  const [nowMs, known] = await Promise.all([gate.now(), gate.inspectJob(attempt.delivery.job)]);
  const ended: EndedUrl = {
    // Earlier attempts count, also where this delivery made none.
    ...identityOf(attempt, known?.facts),
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
  const handOver = new HandOver(attempt, ended, NO_PAGE);
  if (!(await handOver.try()) && !(await handOver.tryAgain())) return pauseFor(attempt, LOCAL_FAULT_PAUSE_MS);
  return finish(attempt, end, detail.slice(0, EVIDENCE_CHARACTERS_MAX));
}

async function pauseFor(attempt: Attempt, waitMs: number): Promise<Disposition> {
  return { kind: 'delay', untilMs: (await attempt.parts.gate.now()) + waitMs, data: null };
}

/** A redirect that must wait is a job with an instant of its own, not one more attempt. */
function effectOf({ step: { plan } }: Answered): JobEffect {
  if (plan.jobEffect.kind !== 'continue' || plan.notBeforeMs === null) return plan.jobEffect;
  return { kind: 'continue', notBeforeMs: plan.notBeforeMs };
}

/** This process was frozen: its lease, counted from the question, the earliest instant at which it can have begun, is over. */
function outlivedItsLease({ parts }: Attempt, { admitted }: Answered): boolean {
  return parts.monotonicMs() - admitted.askedAtMonotonicMs >= admitted.leaseMs;
}

async function giveBack(attempt: Attempt, answered: Answered): Promise<Disposition> {
  const reply = await settle(attempt, answered, { kind: 'release' });
  return { kind: 'delay', untilMs: reply.nowMs + LOCAL_FAULT_PAUSE_MS, data: null };
}

/** `told`: what the log calls it, where the job's part follows later. */
async function settle(
  attempt: Attempt,
  answered: Answered,
  jobEffect: JobEffect,
  told: string = jobEffect.kind,
): Promise<SettleReply> {
  const { admitted, exchange, step, target } = answered;
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
    evidence: evidenceFor(answered),
  };
  // Not with the delivery's signal: what was sent is settled, whatever ended the attempt.
  const { cooldownUntilMs } = step.plan.hostEffect;
  const lesson = {
    job: request.job,
    host: request.host,
    attempt: admitted.attempt,
    status: exchange.status,
    outcome: request.outcome,
    decision: told,
    cooldownUntilMs,
  };
  const repeats = settlementRepeats(cooldownUntilMs - admitted.admittedAtMs - exchange.durationMs);
  const reply = await attempt.parts.unsettled.during(lesson, () =>
    repeatGateCall(
      () => gate.settle(request),
      repeats,
      (ms) => sleep(ms, NEVER),
    ),
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
    decision: reply.kind === 'late' ? `${told} (late)` : told,
    reason: explainReason(step.plan.reason),
    notBeforeMs: step.plan.notBeforeMs ?? 0,
    deadlineMs: admitted.facts.deadlineMs,
  });
  return reply;
}

function evidenceFor({ exchange, hints, step, target }: Answered): string {
  return evidenceOf(exchange, hints, step.plan, target.scope.policyVersion);
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
    ...identityOf(attempt, { ...admitted.facts, attempts: admitted.attempt }),
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
  facts: Pick<JobFacts, 'attempts' | 'startedAtMs'> | undefined,
): Pick<EndedUrl, 'key' | 'job' | 'batch' | 'url' | 'attempts'> {
  const { job } = attempt.delivery;
  return {
    key: `${job}.${(facts?.startedAtMs ?? attempt.job.enteredAtMs).toString(36)}`,
    job,
    batch: attempt.batch,
    url: attempt.job.url,
    attempts: facts?.attempts ?? 0,
  };
}
