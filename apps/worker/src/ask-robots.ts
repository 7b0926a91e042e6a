import type { ProxyExit } from '@holdoff/url-job';
import { type Answer, askGate } from './ask-gate.ts';
import type { Attempt, Target } from './attempt.ts';
import { answerOf } from './decide-step.ts';
import { leaveHost } from './end-attempt.ts';
import { type Passage, scopedTo } from './proxy/ask-proxy.ts';
import { crawlDelayPace } from './robots/crawl-delay-pace.ts';
import { type RobotsAsk, robotsRequest } from './robots/robots-book.ts';
import { sendBudget } from './send-budget.ts';

/** Short waits for another worker's request before the job steps back. */
const PENDING_WAITS_MAX = 3;
const FETCHES_MAX = 2;
const STEP_BACK_MS = 2_000;

export type RobotsAnswer =
  /** The target, at the pace that its robots.txt asks for. */
  | { readonly kind: 'allowed'; readonly target: Target }
  | { readonly kind: 'disallowed'; readonly detail: string }
  | { readonly kind: 'not_admitted'; readonly answer: Exclude<Answer, { kind: 'admitted' }> }
  /** Somebody else of the fleet is still asking: come back then. */
  | { readonly kind: 'over'; readonly untilMs: number };

/** Whether robots.txt allows the target (RFC 9309). What nobody of the fleet knows is fetched, through the gate of its host. */
export async function askRobots(
  attempt: Attempt,
  target: Target,
  exit: ProxyExit | null,
  passage: Passage,
): Promise<RobotsAnswer> {
  const { robots, gate, sleep, workerId } = attempt.parts;
  const { settings, policy } = target.scope;
  const exception = settings.robotsException;
  const override = exception === null ? null : { reason: exception.reason, untilMs: exception.expiresAtMs };
  for (let pending = 0, fetches = 0; ;) {
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
        fetches += 1;
        // What says nothing about the file (a failing proxy, a cut request) must not be asked for without end.
        if (fetches > FETCHES_MAX) {
          await robots.giveUp(verdict.ask);
          return over(await gate.now());
        }
        const fetched = await fetchRobots(attempt, target, verdict.ask, exit, passage);
        if (fetched === 'proxy_failed') return over(await gate.now());
        if (fetched !== 'known') return { kind: 'not_admitted', answer: fetched };
      }
    }
  }
}

function over(nowMs: number): RobotsAnswer {
  return { kind: 'over', untilMs: nowMs + STEP_BACK_MS };
}

function atPace(target: Target, paceIntervalMs: number): Target {
  const { scope } = target;
  if (paceIntervalMs === scope.rules.paceIntervalMs) return target;
  return { ...target, scope: { ...scope, rules: { ...scope.rules, paceIntervalMs } } };
}

/** Asks for one robots.txt, over its redirects. `known`: the book knows more now. */
async function fetchRobots(
  attempt: Attempt,
  page: Target,
  first: RobotsAsk,
  exit: ProxyExit | null,
  passage: Passage,
): Promise<Exclude<Answer, { kind: 'admitted' }> | 'known' | 'proxy_failed'> {
  const { robots, scopeOf, fetchPage, refuseUrl } = attempt.parts;
  let claimed = true;
  try {
    for (let ask: RobotsAsk | null = first; ask !== null;) {
      const target = scopedTo({ ...page, url: ask.url, scope: scopeOf(ask.url) }, exit);
      // A redirect may name anything. The gate is asked for hosts that may be fetched from only.
      const refused = refuseUrl(ask.url);
      if (refused !== null) {
        claimed = false;
        await robots.learnRefused(ask, refused.detail);
        return 'known';
      }
      const answer = await askGate(attempt, target, 'robots');
      if (answer.kind !== 'admitted') return answer;
      const { askedAtMonotonicMs } = answer;
      const request = {
        body: target.scope.policy.body,
        budgetMs: sendBudget(target, askedAtMonotonicMs, askedAtMonotonicMs, attempt.parts),
        signal: attempt.delivery.signal,
        exit,
      };
      await robots.keepClaim(ask, request.budgetMs);
      const exchange = await fetchPage(robotsRequest(ask, request));
      const answered = answerOf(attempt, target, answer, exchange);
      await passage.tell(exchange);
      await leaveHost(attempt, answered);
      // It says nothing about the file: the job waits for its proxy, not for the host's robots.txt.
      if (exchange.outcome.source === 'proxy') return 'proxy_failed';
      ask = await robots.learn(ask, exchange);
    }
    claimed = false;
    return 'known';
  } finally {
    if (claimed) await robots.giveUp(first);
  }
}
