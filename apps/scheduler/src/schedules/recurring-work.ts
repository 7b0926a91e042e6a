import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import type { Worker } from 'bullmq';
import { parseScheduleFile, printScheduleProblem, type Schedule } from '@holdoff/url-job/schedule-file';
import { Pause } from '../pause.ts';
import { Repeat } from '../repeat.ts';
import { RunState } from './run-state.ts';
import type { RunParts } from './run-schedule.ts';
import { openScheduleQueue, type ScheduleQueue } from './schedule-queue.ts';
import { createScheduleWorker, type ScheduleWorkerParts } from './schedule-worker.ts';
import { syncSchedules } from './sync-schedules.ts';

export interface RecurringWorkOptions
  extends
    Pick<ScheduleWorkerParts, 'redis' | 'names' | 'logger' | 'metrics'>,
    Pick<RunParts, 'policies' | 'urlQueue'> {
  readonly path: string;
  readonly gate: RunParts['gate'] & ConstructorParameters<typeof RunState>[0]['gate'];
}

const LOOK_EVERY_MS = 2_000;
const FILE_BYTES_MAX = 1_048_576;

/**
 * Follows a schedule file and makes its runs. A file with a fault changes nothing: the last good one stays in force,
 * and readiness says why.
 */
export class RecurringWork {
  readonly #options: RecurringWorkOptions;
  readonly #queue: ScheduleQueue;
  readonly #looking = new Repeat();
  readonly #pause = new Pause();
  #worker: Worker | undefined;
  #schedules: readonly Schedule[] = [];
  #seen = '';
  #isSet = false;
  #problem: string | null = null;

  constructor(options: RecurringWorkOptions) {
    this.#options = options;
    this.#queue = openScheduleQueue(options.redis, options.names);
    this.#queue.on('error', (error) => options.logger.warn('queue of recurring work', { error }));
  }

  /** Why the file as it is now is not in force, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  /** @throws Error with all that is wrong with the file */
  async start(): Promise<void> {
    await this.#look();
    if (this.#problem !== null) {
      await this.#queue.close();
      throw new Error(this.#problem);
    }
    const { redis, names, logger, metrics, gate, policies, urlQueue } = this.#options;
    const queue = this.#queue;
    const state = new RunState({ redis, names, queue, gate });
    const run = { redis, names, gate, policies, urlQueue, state, pause: this.#pause };
    this.#worker = createScheduleWorker({ run, redis, names, queue, logger, metrics });
    this.#looking.start(
      LOOK_EVERY_MS,
      () => this.#look(),
      (error) => {
        metrics.fault('schedules');
        logger.warn('the schedules could not be set; they will be tried again', { error });
      },
    );
  }

  async stop(): Promise<void> {
    this.#pause.end();
    await this.#looking.stop();
    await this.#worker?.close();
    await this.#queue.close();
  }

  async #look(): Promise<void> {
    const { path, logger } = this.#options;
    const mark = await fileMark(path);
    if (mark !== this.#seen) {
      const problem = await this.#read(path);
      if (problem !== null && problem !== this.#problem)
        logger.error('schedules not in force', { path, problem });
      this.#problem = problem;
      this.#seen = mark;
    }
    if (this.#isSet) return;
    const folder = dirname(resolve(path));
    const pending = await syncSchedules(this.#queue, this.#schedules, folder, Date.now());
    this.#isSet = pending.length === 0;
    if (this.#isSet) logger.info('schedules in force', { path, schedules: this.#schedules.length });
  }

  async #read(path: string): Promise<string | null> {
    let text: string;
    try {
      if ((await stat(path)).size > FILE_BYTES_MAX)
        return `schedule file ${path} is larger than ${FILE_BYTES_MAX} bytes`;
      text = await readFile(path, 'utf8');
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      return `schedule file ${path} cannot be read (${code})`;
    }
    const parsed = parseScheduleFile(text, basename(path));
    if (parsed.kind === 'invalid') return parsed.problems.map(printScheduleProblem).join('; ');
    this.#schedules = parsed.schedules;
    this.#isSet = false;
    return null;
  }
}

async function fileMark(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'unreadable';
  }
}
