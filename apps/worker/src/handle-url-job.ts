import { parseUrlJob, type UrlJob } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import { type Admitted, type Answer, askGate } from './ask-gate.ts';
import { askRobots, type RobotsAnswer } from './ask-robots.ts';
import { Attempt, type Delivery, type Target, type WorkerParts } from './attempt.ts';
import { answerOf } from './decide-step.ts';
import { readPage } from './handler/read-page.ts';
import { hopHeaders } from './redirect/hop-headers.ts';
import { type HopPosition, urlFingerprint } from './redirect/next-hop.ts';
import { endAttempt, endUnsent, leaveHost, withHop } from './end-attempt.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * The story of one delivery of a URL job, top to bottom:
 * read it → ask robots.txt → ask the gate → fetch → decide → show the page to the handler →
 * hand the result over and settle → say where the queue job goes.
 *
 * A redirect asks the gate of its target's host and goes on in the same attempt. Nothing waits here for longer
 * than the policy's inline limit: a job that must wait leaves the worker with the instant to return.
 */
export async function handleUrlJob(delivery: Delivery, parts: WorkerParts): Promise<Disposition> {
  const read = parseUrlJob(delivery.data, delivery.job);
  if (read.kind === 'invalid') return parts.refusePayload(delivery, read.fault);

  const attempt = new Attempt(read.value, delivery, parts);
  const startedAtMs = parts.monotonicMs();
  let target = firstTarget(read.value, parts);
  const own = parts.headersOf(read.value);
  if (own === undefined)
    return endUnsent(
      attempt,
      target.url,
      'poison',
      'the job names a header set that the workers do not have',
    );

  for (;;) {
    const refused = parts.refuseUrl(target.url, target.scope.policy);
    if (refused !== null) return endUnsent(attempt, target.url, refused.reason, refused.detail);

    const exit = parts.exitOf(attempt, target);
    if (exit === undefined)
      return endUnsent(
        attempt,
        target.url,
        'proxy',
        'the policy names a proxy pool that the workers do not have',
      );
    const pausedForMs = exit === null ? 0 : await parts.proxyPauses.pausedForMs(exit);
    if (pausedForMs > 0) return waitForProxy(attempt, target, pausedForMs);

    const robots = await askRobots(attempt, target, exit);
    if (robots.kind !== 'allowed') return notAllowed(attempt, target, robots);
    target = robots.target;

    const answer = await askGate(attempt, target, target.purpose);
    if (answer.kind !== 'admitted') return notAdmitted(attempt, target, answer);

    const exchange = await parts.fetchPage({
      url: target.url,
      method: read.value.method,
      headers: await headersFor(attempt, own, target, answer),
      body: target.scope.policy.body,
      budgetMs: budgetLeft(target, startedAtMs, answer.askedAtMonotonicMs, parts),
      signal: delivery.signal,
      exit,
    });
    if (exit !== null) await parts.proxyPauses.record(exit, exchange);
    const answered = answerOf(attempt, target, answer, exchange);
    if (answered.step.kind === 'conclude')
      return endAttempt(attempt, await readPage(attempt, answered, startedAtMs));

    await leaveHost(attempt, answered);
    target = hopTarget(answered.step.next, parts);
  }
}

async function headersFor(
  attempt: Attempt,
  own: Headers,
  target: Target,
  admitted: Admitted,
): Promise<Headers> {
  const { job, parts } = attempt;
  const trace = parts.traceHeaders(attempt, admitted);
  if (target.hops > 0) return { ...hopHeaders(own, job.url, target.url), ...trace };
  return { ...own, ...(await parts.conditionalHeaders(job.url, job.headersRef)), ...trace };
}

function firstTarget(job: UrlJob, parts: WorkerParts): Target {
  const { url, hop } = job;
  if (hop === null)
    return { url, hops: 0, visited: [urlFingerprint(url)], purpose: 'attempt', scope: parts.scopeOf(url) };
  const purpose = hop.asked ? 'attempt' : 'hop';
  return { url: hop.url, hops: hop.count, visited: hop.visited, purpose, scope: parts.scopeOf(hop.url) };
}

function hopTarget(next: HopPosition, parts: WorkerParts): Target {
  return { ...next, purpose: 'hop', scope: parts.scopeOf(next.url) };
}

/**
 * One budget for all hops of the attempt. A worker that was frozen between the question and here must not send:
 * its lease may be somebody else's by now.
 */
function budgetLeft(target: Target, startedAtMs: number, askedAtMs: number, parts: WorkerParts): number {
  const nowMs = parts.monotonicMs();
  if (nowMs - askedAtMs > target.scope.rules.leaseMarginMs) return 0;
  return Math.max(0, target.scope.policy.deadline.attemptMs - (nowMs - startedAtMs));
}

/** What the queue job must carry to go on where it is; null: what it has. */
function parkedAt({ job }: Attempt, target: Target): UrlJob | null {
  return target.purpose === 'hop' && job.hop?.url !== target.url ? withHop(job, target, false) : null;
}

/** The proxy is the one that must recover: nothing is asked of the host, and no attempt is spent. */
async function waitForProxy(attempt: Attempt, target: Target, pausedForMs: number): Promise<Disposition> {
  const untilMs = (await attempt.parts.gate.now()) + pausedForMs;
  return { kind: 'delay', untilMs, data: parkedAt(attempt, target) };
}

/** What robots.txt, or not knowing it yet, means for the queue job. */
function notAllowed(
  attempt: Attempt,
  target: Target,
  robots: Exclude<RobotsAnswer, { kind: 'allowed' }>,
): Promise<Disposition> | Disposition {
  switch (robots.kind) {
    case 'disallowed':
      return endUnsent(attempt, target.url, 'robots', robots.detail);
    case 'not_admitted':
      return notAdmitted(attempt, target, robots.answer);
    case 'over':
      return { kind: 'delay', untilMs: robots.untilMs, data: parkedAt(attempt, target) };
  }
}

/** What an answer without permission means for the queue job. */
function notAdmitted(
  attempt: Attempt,
  target: Target,
  answer: Exclude<Answer, { kind: 'admitted' }>,
): Promise<Disposition> | Disposition {
  switch (answer.kind) {
    case 'wait':
      return { kind: 'delay', untilMs: answer.fallbackMs, data: parkedAt(attempt, target) };
    case 'stop':
      return endUnsent(attempt, target.url, answer.reason, `refused before it was sent: ${answer.reason}`);
    case 'stale':
      return answer.ended === null ? { kind: 'abandon' } : { kind: 'complete', end: answer.ended };
  }
}
