import { type ConnectionOptions, Queue } from 'bullmq';
import type { QueueNames } from '@holdoff/url-job';
import type { Schedule } from '@holdoff/url-job/schedule-file';

/** What a firing carries. The definition travels along: a scheduler with an older file runs it as it was meant. */
export interface FiringData {
  readonly schedule: Schedule;
  /** Folder that a relative list path counts from. */
  readonly folder: string;
}

export interface RunData extends FiringData {
  /** The instant of the cron line, ms since the epoch. */
  readonly firingMs: number;
}

/** fire: the cron line said so. run: the batch of one firing, which may have to wait for the run before it. */
export type ScheduleQueue = Queue<FiringData | RunData>;

const DAY_S = 86_400;

/** A firing is repeated while Redis or a list is away; it changes nothing to do it twice. */
export const FIRE_OPTIONS = {
  attempts: 10,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: { age: 3_600, count: 1_000 },
  removeOnFail: { age: DAY_S, count: 1_000 },
} as const;

/**
 * Tried again for 85 minutes in all while Redis or a list is away. An ended run is kept for its id: as long as it is
 * there, no scheduler begins it again.
 */
export const RUN_OPTIONS = {
  attempts: 11,
  backoff: { type: 'exponential', delay: 5_000 },
  removeOnComplete: { age: 8 * DAY_S },
  removeOnFail: { age: 8 * DAY_S },
} as const;

export function openScheduleQueue(connection: ConnectionOptions, names: QueueNames): ScheduleQueue {
  return new Queue(names.schedules, {
    connection,
    prefix: names.prefix,
    streams: { events: { maxLen: 1_000 } },
  });
}

export function runJobId(batch: string): string {
  return `run-${batch}`;
}
