import { type ConnectionOptions, type JobsOptions, Queue } from 'bullmq';
import type { QueueNames } from './queue-names.ts';
import type { UrlJob } from './url-job.ts';

export const URL_JOB_NAME = 'url';

/** A queue event is of use for seconds; by default BullMQ keeps 10,000 of them. */
const EVENTS_KEPT = 1_000;

/**
 * The queue's own options of every URL job. BullMQ must not retry: one layer owns retries, and it is ours.
 * An ended job is kept for a look at it only; the ledger, not this retention, answers for duplicates.
 */
export const URL_JOB_OPTIONS = {
  attempts: 1,
  removeOnComplete: { age: 3_600, count: 1_000 },
  removeOnFail: { age: 86_400, count: 1_000 },
  keepLogs: 0,
  stackTraceLimit: 1,
} as const satisfies JobsOptions;

export type UrlQueue = Queue<UrlJob, unknown, typeof URL_JOB_NAME>;

/** A handle on the URL queue for those who add, promote and look. A connection passed in stays the caller's to close. */
export function openUrlQueue(connection: ConnectionOptions, names: QueueNames): UrlQueue {
  return new Queue(names.queue, {
    connection,
    prefix: names.prefix,
    defaultJobOptions: URL_JOB_OPTIONS,
    streams: { events: { maxLen: EVENTS_KEPT } },
  });
}
