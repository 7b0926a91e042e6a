import { performance } from 'node:perf_hooks';
import { inspectRedis, type Logger } from '@holdoff/service-runtime';
import { ClockGuard } from './clock-guard.ts';
import type { WorkerConfig } from './config.ts';
import type { Intake } from './intake.ts';
import type { Stores } from './stores.ts';

const CHECK_EVERY_MS = 10_000;

export interface Surroundings {
  /** The gate's clock, as an answer told it: a clock that has jumped is found at once, not at the next check. */
  gateSaid(nowMs: number): void;
  stop(): void;
}

/**
 * Pauses the intake while this machine's clock or the Redis server is not fit for the work, and takes it up again
 * by itself. Returns after the first look.
 */
export async function watchSurroundings(
  config: Pick<WorkerConfig, 'CLOCK_SKEW_MAX_MS'>,
  stores: Stores,
  intake: Intake,
  logger: Logger,
): Promise<Surroundings> {
  const clock = new ClockGuard({
    gateNow: () => stores.gate.now(),
    wallNow: Date.now,
    monotonicMs: () => performance.now(),
    skewMaxMs: config.CLOCK_SKEW_MAX_MS,
    onChange: ({ ok, skewMs }) => {
      if (ok) intake.resume('clock');
      else intake.pause('clock', `this machine's clock is ${Math.round(skewMs)} ms off Redis'`);
    },
  });
  let warned = '';
  const checkServer = async (): Promise<void> => {
    // The clock has its own guard, which knows how long the question took.
    const report = await inspectRedis(stores.gateRedis, {
      clockSkewMsMax: Number.POSITIVE_INFINITY,
      wallClockMs: Date.now,
    });
    const warnings = report.warnings.join('; ');
    if (warnings !== warned && warnings !== '')
      logger.warn('Redis is usable but unsafe', { server: report.server, warnings });
    warned = warnings;
    if (report.problems.length === 0) intake.resume('redis');
    else intake.pause('redis', `Redis ${report.problems.join('; ')}`);
  };
  await clock.start(CHECK_EVERY_MS);
  await checkServer();
  const timer = setInterval(() => void checkServer().catch(() => undefined), CHECK_EVERY_MS);
  timer.unref();
  return {
    gateSaid: (nowMs) => clock.suspect(nowMs),
    stop() {
      clock.stop();
      clearInterval(timer);
    },
  };
}
