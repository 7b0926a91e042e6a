import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { RunFault, type RunOptions } from './run-options.ts';
import { Supervisor } from './supervisor.ts';

/** Longer than a worker's own grace period, so that it is never cut short by us. */
export const STOP_WITHIN_MS = 30_000;
const RESTARTS_MAX = 20;
const RESTART_DELAY_MS = 500;
/** Short, so that what a killed worker held is worked on again soon; a fleet across machines takes longer. */
const LOCK_MS = 15_000;
const STALLED_CHECK_MS = 5_000;

/**
 * Results are synced to the disk by libuv's threads, four by default: with more of them waiting at once, the file
 * system commits their syncs together.
 */
const FILE_THREADS = 32;

export interface FleetInput {
  readonly options: RunOptions;
  readonly redisUrl: string;
  readonly logs: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  readonly fail: (fault: RunFault) => void;
  /** Who is running, each time that changes. */
  readonly onProcesses: (pids: readonly number[]) => void;
}

/** Starts the scheduler and the workers of a run as processes of this machine. */
export function startFleet({
  options,
  redisUrl,
  logs,
  environment,
  say,
  fail,
  onProcesses,
}: FleetInput): Supervisor {
  const supervisor = new Supervisor({
    restartsMax: RESTARTS_MAX,
    restartDelayMs: RESTART_DELAY_MS,
    stopWithinMs: STOP_WITHIN_MS,
    baseEnvironment: environment,
    onProcesses,
    onRestart: (name, exit) => say(`${name} ended (${exit}) and is started again`),
    onGiveUp: (name, exit) =>
      fail(new RunFault(`${name} ended again and again (${exit}); its log is ${join(logs, `${name}.log`)}`)),
  });
  const shared = {
    REDIS_URL: redisUrl,
    HOLDOFF_DEPLOYMENT: options.deployment,
    METRICS_PORT: '0',
    POLICY_FILE: '',
    UV_THREADPOOL_SIZE: String(FILE_THREADS),
  };
  supervisor.start({
    name: 'scheduler',
    modulePath: moduleOf('@holdoff/scheduler/main'),
    environment: shared,
    logFile: join(logs, 'scheduler.log'),
  });
  for (let number = 1; number <= options.workers; number += 1) {
    const name = `worker-${number}`;
    supervisor.start({
      name,
      modulePath: moduleOf('@holdoff/worker/main'),
      environment: {
        ...shared,
        WORKER_CONCURRENCY: String(options.concurrency),
        RESULTS_DIR: options.resultsDir,
        HANDLER: options.handler ?? '',
        EXTRACT: options.extract ?? '',
        ALLOW_NETWORKS: options.allowNetworks.join(','),
        TRACE_HEADERS: options.traceHeaders ? 'on' : 'off',
        LOCK_MS: String(LOCK_MS),
        STALLED_CHECK_MS: String(STALLED_CHECK_MS),
      },
      logFile: join(logs, `${name}.log`),
    });
  }
  return supervisor;
}

function moduleOf(specifier: string): string {
  return fileURLToPath(import.meta.resolve(specifier));
}
