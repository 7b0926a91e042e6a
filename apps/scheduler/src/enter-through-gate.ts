import {
  type BatchId,
  type EnterReply,
  type EnteringJob,
  type Gate,
  type HostKey,
  type JobId,
  type Policy,
  type SpendLimits,
  batchDefaultsOf,
} from '@holdoff/throttle-core';
import type { Enter, EnterDecision, ExitQuestion, UrlEntry } from '@holdoff/url-job';

/** The policy in force, as entering needs it. */
export interface EntryPolicies {
  /** For one entry: `hostname` is lower-cased ASCII. */
  readonly forHost: (
    hostname: string,
    entry: Pick<ExitQuestion, 'batch' | 'job'>,
  ) => { readonly hostKey: HostKey; readonly policy: Policy };
  /** What a batch begins with that nobody has created before its first job. */
  readonly forBatch: () => { readonly policy: Policy; readonly spend: SpendLimits };
}

/** Jobs in one script call: it holds up everybody else for as long as it runs. */
const JOBS_PER_CALL_MAX = 200;

/** Asks the gate for each job whether it may go to a worker at once, has to wait, or is known already. */
export function enterThroughGate(gate: Pick<Gate, 'enter'>, policies: EntryPolicies): Enter {
  return async (entries) => {
    const decisions = new Map<UrlEntry, EnterDecision>();
    const byBatch = new Map<string, { readonly entry: UrlEntry; readonly job: EnteringJob }[]>();
    for (const entry of entries) {
      const { hostKey, policy } = policies.forHost(entry.hostname, {
        batch: entry.job.batch,
        job: entry.id,
      });
      if (policy.methods !== 'any' && !policy.methods.includes(entry.job.method)) {
        decisions.set(entry, { kind: 'refused', reason: 'method' });
        continue;
      }
      const jobs = byBatch.get(entry.job.batch) ?? [];
      byBatch.set(entry.job.batch, jobs);
      jobs.push({ entry, job: enteringJob(entry, hostKey, policy) });
    }

    const batchPolicy = policies.forBatch();
    for (const [batch, jobs] of byBatch) {
      for (let start = 0; start < jobs.length; start += JOBS_PER_CALL_MAX) {
        const part = jobs.slice(start, start + JOBS_PER_CALL_MAX);
        const replies = await gate.enter({
          batch: batch as BatchId,
          batchDefaults: batchDefaultsOf(batchPolicy.policy, {
            tokens: null,
            approved: null,
            owner: 'inbox',
            deadlineMs: null,
            spend: batchPolicy.spend,
          }),
          jobs: part.map(({ job }) => job),
        });
        for (const [index, { entry, job }] of part.entries()) {
          const reply = replies[index];
          if (reply === undefined || reply.job !== job.job)
            throw new Error(`the gate gave no answer for ${job.job}`);
          decisions.set(entry, decisionOf(reply));
        }
      }
    }
    return entries.map((entry) => {
      const decision = decisions.get(entry);
      if (decision === undefined) throw new Error(`no decision for ${entry.id}`);
      return decision;
    });
  };
}

function enteringJob({ id, job }: UrlEntry, host: HostKey, policy: Policy): EnteringJob {
  return {
    job: id as string as JobId,
    host,
    rules: { concurrency: policy.concurrency },
    priority: job.priority,
    notBeforeMs: job.notBeforeMs ?? 0,
    deadlineMs: deadlineOf(job, policy),
  };
}

/** The job's own deadline, or the policy's counted from when the job may first run: not from before its not_before. */
function deadlineOf(job: UrlEntry['job'], policy: Policy): number {
  if (job.deadlineMs !== null) return job.deadlineMs;
  if (policy.deadline.jobMs === null) return 0;
  return Math.max(job.enteredAtMs, job.notBeforeMs ?? 0) + policy.deadline.jobMs;
}

function decisionOf(reply: EnterReply): EnterDecision {
  switch (reply.kind) {
    case 'go':
      return { kind: 'add', delayUntilMs: null };
    case 'wait':
      return { kind: 'add', delayUntilMs: reply.fallbackMs };
    case 'duplicate':
      return { kind: 'duplicate', alive: reply.ended === null, delayUntilMs: reply.fallbackMs };
    case 'refused':
      return { kind: 'refused', reason: reply.reason };
  }
}
