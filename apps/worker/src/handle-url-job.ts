import { parseUrlJob, type ProxyExit, type UrlJob } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import { type Admitted, type Answer, askGate } from './ask-gate.ts';
import { askRobots, type RobotsAnswer } from './ask-robots.ts';
import { Attempt, type Delivery, type Target, type WorkerParts } from './attempt.ts';
import { type Answered, answerOf } from './decide-step.ts';
import { readPage } from './handler/read-page.ts';
import { askProxy, type Passage, type PassageReply, scopedTo } from './proxy/ask-proxy.ts';
import { hopHeaders } from './redirect/hop-headers.ts';
import { type HopPosition, urlFingerprint } from './redirect/next-hop.ts';
import { sendBudget } from './send-budget.ts';
import { endAttempt, endUnsent, leaveHost, withHop } from './end-attempt.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * The story of one delivery of a URL job, top to bottom:
 * read it → ask for its proxy → ask robots.txt → ask the gate → fetch → decide → show the page to the handler →
 * hand the result over and settle → say where the queue job goes.
 *
 * A redirect asks the gate of its target's host and goes on in the same attempt. Nothing waits here for longer
 * than the policy's inline limit: a job that must wait leaves the worker with the instant to return.
 */
export async function handleUrlJob(delivery: Delivery, parts: WorkerParts): Promise<Disposition> {
  const read = parseUrlJob(delivery.data, delivery.job);
  if (read.kind === 'invalid') return parts.refusePayload(delivery, read.fault);

  const attempt = new Attempt(read.value, delivery, parts);
  let firstAskedAtMs: number | null = null;
  let target = firstTarget(read.value, parts);
  const own = parts.headersOf(attempt.headersRef);
  if (own === undefined)
    return endUnsent(
      attempt,
      target.url,
      'poison',
      'the job or the policy names a header set that the workers do not have',
    );

  for (;;) {
    const refused = parts.refuseUrl(target.url);
    if (refused !== null) return endUnsent(attempt, target.url, refused.reason, refused.detail);

    const exit = parts.exitOf(attempt, target);
    if (exit === undefined)
      return endUnsent(
        attempt,
        target.url,
        'proxy',
        'the policy names a proxy pool that the workers do not have',
      );
    target = scopedTo(target, exit);
    const proxy = await askProxy(attempt, target, exit);
    if (proxy.kind !== 'go') return notThrough(attempt, target, proxy);
    const { passage } = proxy;
    const sent = await askAndSend(attempt, own, target, passage, exit, firstAskedAtMs);
    if (sent.kind === 'refused') return sent.refused();
    const { answered } = sent;
    firstAskedAtMs ??= answered.admitted.askedAtMonotonicMs;
    const startedAtMs = firstAskedAtMs;
    if (answered.step.kind === 'conclude')
      return endAttempt(attempt, answered, () => readPage(attempt, answered, startedAtMs));

    await leaveHost(attempt, answered);
    target = hopTarget(answered.step.next, parts);
  }
}

/** Says where the queue job goes instead. */
interface Refused {
  readonly kind: 'refused';
  readonly refused: () => Promise<Disposition> | Disposition;
}
type Permit = { readonly kind: 'admitted'; readonly target: Target; readonly answer: Admitted } | Refused;

/** One request, if robots.txt and the gate allow it. Whatever comes of it, the proxy is free for others afterwards. */
async function askAndSend(
  attempt: Attempt,
  own: Headers,
  asked: Target,
  passage: Passage,
  exit: ProxyExit | null,
  firstAskedAtMs: number | null,
): Promise<{ readonly kind: 'sent'; readonly answered: Answered } | Refused> {
  const { job, parts, delivery } = attempt;
  try {
    const permit = await askForPage(attempt, asked, exit, passage);
    if (permit.kind === 'refused') return permit;
    const { target, answer } = permit;
    const beganAtMs = firstAskedAtMs ?? answer.askedAtMonotonicMs;
    const exchange = await parts.fetchPage({
      url: target.url,
      method: job.method,
      headers: await headersFor(attempt, own, target, answer),
      body: target.scope.policy.body,
      budgetMs: sendBudget(target, beganAtMs, answer.askedAtMonotonicMs, parts),
      signal: delivery.signal,
      exit,
    });
    const answered = answerOf(attempt, target, answer, exchange);
    await passage.tell(exchange);
    return { kind: 'sent', answered };
  } finally {
    await passage.leave();
  }
}

/** Asks robots.txt, then the gate, for one request. */
async function askForPage(
  attempt: Attempt,
  asked: Target,
  exit: ProxyExit | null,
  passage: Passage,
): Promise<Permit> {
  const robots = await askRobots(attempt, asked, exit, passage);
  if (robots.kind !== 'allowed')
    return { kind: 'refused', refused: () => notAllowed(attempt, asked, robots) };
  const { target } = robots;
  // What would be cut at once must not be charged as an attempt.
  if (attempt.delivery.signal.aborted) return { kind: 'refused', refused: () => putBack(attempt, target) };
  const answer = await askGate(attempt, target, target.purpose);
  if (answer.kind !== 'admitted')
    return { kind: 'refused', refused: () => notAdmitted(attempt, target, answer) };
  return { kind: 'admitted', target, answer };
}

/** What a proxy that is left alone means for the queue job. */
function notThrough(
  attempt: Attempt,
  target: Target,
  reply: Exclude<PassageReply, { kind: 'go' }>,
): Promise<Disposition> | Disposition {
  switch (reply.kind) {
    case 'wait':
      return { kind: 'delay', untilMs: reply.fallbackMs, data: parkedAt(attempt, target) };
    case 'stop':
      return endUnsent(
        attempt,
        target.url,
        reply.reason,
        'its proxy is left alone past the deadline of the job',
      );
    case 'stale':
      return reply.ended === null ? { kind: 'abandon' } : { kind: 'complete', end: reply.ended };
  }
}

async function headersFor(
  attempt: Attempt,
  own: Headers,
  target: Target,
  admitted: Admitted,
): Promise<Headers> {
  const { job, parts, headersRef } = attempt;
  const trace = parts.traceHeaders(attempt, admitted);
  if (target.hops > 0) return { ...hopHeaders(own, job.url, target.url), ...trace };
  // "Unchanged" would have no URLs in it.
  if (job.reads !== undefined) return { ...own, ...trace };
  return { ...own, ...(await parts.conditionalHeaders(job.url, headersRef)), ...trace };
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

/** What the queue job must carry to go on where it is; null: what it has. */
function parkedAt({ job }: Attempt, target: Target): UrlJob | null {
  return target.purpose === 'hop' && job.hop?.url !== target.url ? withHop(job, target, false) : null;
}

async function putBack(attempt: Attempt, target: Target): Promise<Disposition> {
  return { kind: 'delay', untilMs: await attempt.parts.gate.now(), data: parkedAt(attempt, target) };
}

/**
 * A wait that the gate is not asked about: for another worker's robots.txt. It spends no attempt. The
 * gate ends jobs at their deadline as they ask, so one that never comes to ask is ended here, by the same rule.
 */
async function waitUnasked(attempt: Attempt, target: Target, untilMs: number): Promise<Disposition> {
  const known = await attempt.parts.gate.inspectJob(attempt.delivery.job);
  const deadlineMs = known?.facts.deadlineMs ?? attempt.job.deadlineMs ?? 0;
  const { attemptMs, headroomMs } = target.scope.rules;
  if (deadlineMs > 0 && untilMs + attemptMs + headroomMs >= deadlineMs)
    return endUnsent(attempt, target.url, 'deadline', 'robots.txt keeps it waiting past its deadline');
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
      return waitUnasked(attempt, target, robots.untilMs);
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
