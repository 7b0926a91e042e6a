import { DelayedError, type Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '@holdoff/service-runtime';
import type { QueueNames } from '@holdoff/url-job';
import { runNameOf } from '@holdoff/url-job/schedule-file';
import type { SchedulerMetrics } from '../scheduler-metrics.ts';
import { judgeFiring } from './judge-firing.ts';
import { type RunParts, runSchedule } from './run-schedule.ts';
import {
  type FiringData,
  RUN_OPTIONS,
  type RunData,
  runJobId,
  type ScheduleQueue,
} from './schedule-queue.ts';

export interface ScheduleWorkerParts {
  readonly run: RunParts;
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly queue: ScheduleQueue;
  readonly logger: Logger;
  readonly metrics: Pick<SchedulerMetrics, 'fired' | 'fault'>;
}

/** Runs that wait for a full inbox hold a seat; firings must find one all the same. */
const CONCURRENCY = 20;
const STALLS_MAX = 1_000;

/** Takes firings and runs off the schedules' queue. Of several schedulers each job has one at a time. */
export function createScheduleWorker(parts: ScheduleWorkerParts): Worker {
  const { redis, names, logger, metrics } = parts;
  const worker = new Worker<FiringData | RunData>(
    names.schedules,
    async (job, token) => {
      const { data } = job;
      if ('firingMs' in data) await run(job, data, token, parts);
      else await fire(job, data, parts);
    },
    { connection: redis, prefix: names.prefix, concurrency: CONCURRENCY, maxStalledCount: STALLS_MAX },
  );
  worker.on('error', (error) => {
    metrics.fault('schedules');
    logger.warn('queue of recurring work', { error });
  });
  worker.on('failed', (job, error) => {
    const schedule = job?.data.schedule.name;
    if (job !== undefined && job.attemptsMade < (job.opts.attempts ?? 1)) {
      logger.warn('recurring work was interrupted and is tried again', { schedule, error });
      return;
    }
    metrics.fired('failed');
    logger.error('recurring work failed', { schedule, error });
  });
  return worker;
}

/** The cron line said so: makes the run's job, whose id lets it exist once in the fleet. */
async function fire(
  job: Job,
  data: FiringData,
  { run, queue, logger, metrics }: ScheduleWorkerParts,
): Promise<void> {
  const plannedMs = Number(job.id?.split(':').at(-1));
  const verdict = judgeFiring(data.schedule, plannedMs, await run.gate.now());
  const { name } = data.schedule;
  if (verdict.kind === 'missed') {
    metrics.fired('missed');
    logger.warn('a firing was missed and is left out', {
      schedule: name,
      planned: new Date(plannedMs).toISOString(),
    });
    return;
  }
  const jobId = runJobId(runNameOf(name, verdict.firingMs));
  await queue.add('run', { ...data, firingMs: verdict.firingMs }, { ...RUN_OPTIONS, jobId });
}

async function run(
  job: Job,
  data: RunData,
  token: string | undefined,
  parts: ScheduleWorkerParts,
): Promise<void> {
  const { logger, metrics } = parts;
  const outcome = await runSchedule(data, parts.run);
  const schedule = data.schedule.name;
  switch (outcome.kind) {
    case 'entered':
      metrics.fired('entered');
      logger.info('recurring run entered', {
        schedule,
        batch: outcome.batch,
        urls: outcome.urls,
        joined: outcome.joined,
      });
      return;
    case 'overlap':
      metrics.fired('overlap');
      logger.warn('a run was left out: the one before is not over', { schedule, batch: outcome.batch });
      return;
    case 'later':
      await job.moveToDelayed(Date.now() + outcome.waitMs, token);
      throw new DelayedError();
  }
}
