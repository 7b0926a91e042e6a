import type { HostKey } from '@holdoff/throttle-core';
import { stoppedFields, type UrlJob } from '@holdoff/url-job';
import { DeliveryFault, type EndedUrl } from './deliver-result.ts';
import type { Stores } from './stores.ts';

/**
 * Keeps a stopped job in the bounded stream that operators browse and replay from. It runs after the result was
 * handed over and before the job is settled: like a sink it may see a job twice, and never misses one.
 *
 * @throws DeliveryFault when Redis does not take it (out of memory, say): the job comes again
 */
export async function recordStopped(
  { queueRedis, names }: Pick<Stores, 'queueRedis' | 'names'>,
  stopped: {
    readonly job: UrlJob;
    readonly ended: EndedUrl;
    readonly host: HostKey;
    /** About this many are kept, the newest. */
    readonly kept: number;
  },
): Promise<void> {
  const { job, ended, host, kept } = stopped;
  const fields = stoppedFields({
    key: ended.key,
    job: ended.job,
    url: job.url,
    batch: ended.batch,
    host,
    reason: ended.reason ?? 'handler_failed',
    status: ended.status,
    detail: ended.detail,
    attempts: ended.attempts,
    at: ended.endedAt,
    method: job.method,
    priority: job.priority,
    headersRef: job.headersRef,
    ...(job.reads === undefined ? {} : { reads: job.reads }),
  });
  try {
    await queueRedis.xadd(names.stopped, 'MAXLEN', '~', kept, '*', ...fields);
  } catch (error) {
    throw new DeliveryFault('the stopped jobs', error);
  }
}
