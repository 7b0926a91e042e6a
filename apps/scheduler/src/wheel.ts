import type { Logger } from '@holdoff/service-runtime';
import { type JobId, WheelTimer } from '@holdoff/throttle-core';
import { promoteCalled } from '@holdoff/url-job';
import { endExpired } from './end-expired.ts';
import type { SchedulerMetrics } from './scheduler-metrics.ts';
import type { Stores } from './stores.ts';

const WHEEL = { hostsMax: 100, jobsMax: 1_000, idleMs: 1_000 } as const;

/** Calls jobs of hosts that can take more, whether or not a worker lives to do it, and ends expired ones. */
export function createWheel(stores: Stores, metrics: SchedulerMetrics, logger: Logger): WheelTimer {
  const failed = (what: string) => (error: unknown) => {
    metrics.fault('wheel');
    logger.warn(what, { error });
  };
  const call = async (jobs: readonly JobId[]): Promise<void> => {
    const { promoted, missed } = await promoteCalled(stores.queue, jobs);
    metrics.called(promoted, missed.length);
  };
  return new WheelTimer({
    ...WHEEL,
    gate: stores.gate,
    call: (jobs) => call(jobs).catch(failed('called jobs were not promoted; the gate calls them again')),
    expire: (jobs) => {
      metrics.expired(jobs.length);
      return endExpired(jobs, stores).catch(failed('expired jobs were not ended; the gate names them again'));
    },
    onError: failed('the wheel could not be looked at'),
  });
}
