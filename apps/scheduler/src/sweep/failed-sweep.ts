import type { Gate, JobId } from '@holdoff/throttle-core';
import { isUrlJobId, type UrlQueue } from '@holdoff/url-job';

export interface FailedSweepParts {
  readonly gate: Pick<Gate, 'inspectJob'>;
  readonly queue: Pick<UrlQueue, 'getFailed'>;
}

const JOBS_PER_SWEEP = 100;

/**
 * Brings back jobs that the queue counts as failed although their ledger is alive. Workers fail no job, but the queue
 * does when a job could not be put back for a moment (Redis out of memory, read-only, its disk full) and could be
 * failed a moment later; without this the URL would be in no place that anybody looks at.
 *
 * @returns how many jobs wait again
 */
export async function sweepFailed({ gate, queue }: FailedSweepParts): Promise<number> {
  let retried = 0;
  for (const job of await queue.getFailed(0, JOBS_PER_SWEEP - 1)) {
    if (job.id === undefined || !isUrlJobId(job.id)) continue;
    const known = await gate.inspectJob(job.id as string as JobId);
    if (known === undefined || known.ended !== null) continue;
    await job.retry('failed');
    retried += 1;
  }
  return retried;
}
