import type { Redis } from 'ioredis';
import type { BatchId, Gate, JobId } from '@holdoff/throttle-core';
import { type QueueNames, type UrlQueue, promoteCalled } from '@holdoff/url-job';

export interface EndExpiredParts {
  readonly gate: Pick<Gate, 'finish' | 'inspectJob'>;
  readonly queue: Pick<UrlQueue, 'getBackend'>;
  readonly redis: Redis;
  readonly names: QueueNames;
}

/**
 * Ends jobs whose deadline passed while they waited. Their results belong into the workers' sinks like any other,
 * so such a job is called to a worker, whose admission answers `stop: deadline` before it looks at the host. A
 * job that the queue has lost has nobody to end it: its ledger is closed here.
 *
 * The gate names a job again every few seconds until it has ended.
 */
export async function endExpired(jobs: readonly JobId[], parts: EndExpiredParts): Promise<void> {
  const { missed } = await promoteCalled(parts.queue, jobs, { triesMax: 1 });
  if (missed.length === 0) return;
  const pipeline = parts.redis.pipeline();
  for (const id of missed) pipeline.exists(`${parts.names.prefix}:${parts.names.queue}:${id}`);
  const replies = (await pipeline.exec()) ?? [];
  for (const [index, id] of missed.entries()) {
    // Waiting or running: a worker has it or will have it.
    if (replies[index]?.[1] !== 0) continue;
    const job = id as JobId;
    const known = await parts.gate.inspectJob(job);
    if (known === undefined || known.ended !== null) continue;
    const { call } = await parts.gate.finish({
      job,
      batch: known.batch satisfies BatchId,
      delivery: 0,
      end: { kind: 'stopped', reason: 'deadline' },
      evidence: 'deadline passed; the queue no longer had the job',
    });
    await promoteCalled(parts.queue, call, { triesMax: 1 });
  }
}
