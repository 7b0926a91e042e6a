import type { Disposition } from './apply-decision.ts';
import { type Answer, askGate } from './ask-gate.ts';
import type { Attempt, Target } from './attempt.ts';
import { answerOf } from './decide-step.ts';
import { leaveHost } from './end-attempt.ts';
import { crawlDelayPace } from './robots/crawl-delay-pace.ts';
import { type RobotsAsk, robotsRequest } from './robots/robots-book.ts';

/** Short waits for another worker's request before the job steps back. */
const PENDING_WAITS_MAX = 3;
const STEP_BACK_MS = 2_000;

export type RobotsAnswer =
  /** The target, at the pace that its robots.txt asks for. */
  | { readonly kind: 'allowed'; readonly target: Target }
  | { readonly kind: 'disallowed'; readonly detail: string }
  | { readonly kind: 'not_admitted'; readonly answer: Exclude<Answer, { kind: 'admitted' }> }
  | { readonly kind: 'over'; readonly disposition: Disposition };

/** Whether robots.txt allows the target (RFC 9309). What nobody of the fleet knows is fetched, through the gate of its host. */
export async function askRobots(attempt: Attempt, target: Target): Promise<RobotsAnswer> {
  const { robots, gate, sleep, workerId } = attempt.parts;
  const { settings, policy } = target.scope;
  const exception = settings.robotsException;
  const override = exception === null ? null : { reason: exception.reason, untilMs: exception.expiresAtMs };
  for (let pending = 0; ;) {
    const nowMs = override === null ? 0 : await gate.now();
    const verdict = await robots.check(target.url, override, nowMs, workerId);
    switch (verdict.kind) {
      case 'allowed': {
        const { intervalMs } = crawlDelayPace(verdict.crawlDelaySeconds, policy.pace.intervalMs);
        return { kind: 'allowed', target: atPace(target, intervalMs ?? 0) };
      }
      case 'disallowed':
        return verdict;
      case 'pending':
        pending += 1;
        if (pending > PENDING_WAITS_MAX || attempt.delivery.signal.aborted) return over(await gate.now());
        await sleep(verdict.retryInMs, attempt.delivery.signal);
        break;
      case 'fetch': {
        const refused = await fetchRobots(attempt, target, verdict.ask);
        if (refused !== null) return { kind: 'not_admitted', answer: refused };
      }
    }
  }
}

function over(nowMs: number): RobotsAnswer {
  return { kind: 'over', disposition: { kind: 'delay', untilMs: nowMs + STEP_BACK_MS, data: null } };
}

function atPace(target: Target, paceIntervalMs: number): Target {
  const { scope } = target;
  if (paceIntervalMs === scope.rules.paceIntervalMs) return target;
  return { ...target, scope: { ...scope, rules: { ...scope.rules, paceIntervalMs } } };
}

/** Asks for one robots.txt, over its redirects. null: the book knows more now. */
async function fetchRobots(
  attempt: Attempt,
  page: Target,
  first: RobotsAsk,
): Promise<Exclude<Answer, { kind: 'admitted' }> | null> {
  const { robots, scopeOf, fetchPage } = attempt.parts;
  for (let ask: RobotsAsk | null = first; ask !== null;) {
    const target: Target = { ...page, url: ask.url, scope: scopeOf(ask.url) };
    const answer = await askGate(attempt, target, 'robots');
    if (answer.kind !== 'admitted') {
      await robots.giveUp(ask);
      return answer;
    }
    const { policy } = target.scope;
    const request = {
      body: policy.body,
      budgetMs: policy.deadline.attemptMs,
      signal: attempt.delivery.signal,
    };
    const exchange = await fetchPage(robotsRequest(ask, request));
    await leaveHost(attempt, answerOf(attempt, target, answer, exchange));
    ask = await robots.learn(ask, exchange);
  }
  return null;
}
