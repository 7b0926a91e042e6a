import type { Plan } from '@holdoff/throttle-core';
import type { Attempt } from '../attempt.ts';
import type { Answered } from '../decide-step.ts';
import { readSitemap } from '../sitemap/read-sitemap.ts';
import type { HandlerReply } from './handler-pool.ts';

/**
 * Shows a page that would end its job well to the user's handler, within what is left of the attempt's budget.
 * The host served its page and is settled so, whatever the handler makes of it: a handler that fails ends the job.
 */
export async function readPage(attempt: Attempt, answered: Answered, startedAtMs: number): Promise<Answered> {
  const { handler, monotonicMs } = attempt.parts;
  const { step, exchange, target } = answered;
  if (step.plan.jobEffect.kind !== 'done') return answered;
  if (attempt.job.reads !== undefined) return readListing(attempt, answered);
  if (handler === null) return answered;
  const reply = await handler.run(
    {
      url: attempt.job.url,
      finalUrl: target.url,
      status: exchange.status,
      headers: Object.fromEntries(
        Object.entries(exchange.headers).map(([name, lines]) => [name, lines.join(', ')] as const),
      ),
      contentType: exchange.headers['content-type']?.[0] ?? null,
      body: exchange.body,
    },
    target.scope.policy.deadline.attemptMs - (monotonicMs() - startedAtMs),
    attempt.delivery.signal,
  );
  return withReply(answered, reply);
}

/** No page for a handler: its URLs join the batch, where each is a job of its own. */
async function readListing({ job }: Attempt, answered: Answered): Promise<Answered> {
  const { exchange, target } = answered;
  const read = await readSitemap(job, target.url, exchange.body, target.scope.policy.body);
  if (read.kind === 'useful') return { ...answered, verdict: read };
  return withPlan(withDetail(answered, `no sitemap: ${read.fault}`), {
    jobEffect: { kind: 'stop', reason: 'bad_content' },
    reason: { code: 'outcome', stop: 'bad_content' },
  });
}

function withReply(answered: Answered, reply: HandlerReply): Answered {
  switch (reply.kind) {
    case 'useful':
      return { ...answered, verdict: reply };
    case 'not_useful':
      return { ...withDetail(answered, `not useful: ${reply.reason || 'no reason given'}`), verdict: reply };
    case 'failed':
      return withPlan(withDetail(answered, `the handler failed: ${reply.fault}`), {
        jobEffect: { kind: 'stop', reason: 'handler_failed' },
        reason: { code: 'outcome', stop: 'handler_failed' },
      });
    case 'cut':
    case 'crowded':
      return withPlan(answered, { jobEffect: { kind: 'release' }, reason: { code: 'given_back' } });
  }
}

function withPlan(answered: Answered, change: Pick<Plan, 'jobEffect' | 'reason'>): Answered {
  return { ...answered, step: { ...answered.step, plan: { ...answered.step.plan, ...change } } };
}

function withDetail(answered: Answered, detail: string): Answered {
  const { outcome } = answered.exchange;
  const exchange = {
    ...answered.exchange,
    outcome: { ...outcome, detail: `${outcome.detail}; ${detail}` },
  };
  return { ...answered, exchange };
}
