import type { Logger } from '@holdoff/service-runtime';
import type { SchedulerConfig } from './config.ts';
import type { InboxStream } from './inbox/inbox-stream.ts';
import type { IntakePressure } from './intake-pressure.ts';
import type { RedisWatch } from './redis-watch.ts';
import { Repeat } from './repeat.ts';
import type { SchedulerMetrics } from './scheduler-metrics.ts';
import type { Stores } from './stores.ts';
import { sweepFailed } from './sweep/failed-sweep.ts';
import { IndexSweep } from './sweep/index-sweep.ts';
import { sweepPoison } from './sweep/poison-sweep.ts';

const WATCH_EVERY_MS = 5_000;

export interface UpkeepParts {
  readonly stores: Stores;
  readonly stream: InboxStream;
  readonly pressure: IntakePressure;
  readonly watch: RedisWatch;
  readonly metrics: SchedulerMetrics;
  readonly logger: Logger;
}

/** Everything that is looked at now and then. */
export function startUpkeep(config: SchedulerConfig, parts: UpkeepParts): { stop(): Promise<void> } {
  const { stores, stream, pressure, watch, metrics, logger } = parts;
  const indexes = new IndexSweep({
    ...stores,
    random01: Math.random,
    inboxPending: async () => (await stream.inspect()).pending > 0,
  });
  const watching = new Repeat();
  watching.start(
    WATCH_EVERY_MS,
    async () => {
      await watch.look();
      await pressure.look();
      const problem = watch.problem ?? pressure.problem;
      metrics.intakePaused(problem !== null);
      if (problem !== null) logger.warn('the inbox is left alone', { problem });
      metrics.inboxStatus(await stream.inspect());
    },
    (error) => {
      metrics.fault('redis');
      logger.warn('Redis could not be looked at', { error });
    },
  );
  const sweeping = new Repeat();
  sweeping.start(
    config.SWEEP_EVERY_MS,
    async () => {
      await sweepPoison({ ...stores, logger, buried: (reason) => metrics.poison(reason) });
      const retried = await sweepFailed(stores);
      if (retried > 0) logger.warn('jobs that the queue had failed wait again', { retried });
      const report = await indexes.sweep();
      metrics.repaired(report);
      if (report.recalled + report.orphaned + report.removed > 0)
        logger.warn('indexes repaired', { ...report });
    },
    (error) => {
      metrics.fault('sweep');
      logger.warn('sweep interrupted', { error });
    },
  );
  return {
    stop: async () => {
      await Promise.all([watching.stop(), sweeping.stop()]);
    },
  };
}
