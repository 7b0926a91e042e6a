import type { Logger } from '@holdoff/service-runtime';

/** What of BullMQ's `Worker` the intake drives. */
export interface PausableWorker {
  pause(doNotWaitActive?: boolean): Promise<void>;
  resume(): unknown;
}

/**
 * Whether this process takes new jobs. It pauses for named causes (clock, results folder, store), each of which
 * ends by itself; jobs in flight go on.
 */
export class Intake {
  readonly #worker: PausableWorker;
  readonly #logger: Logger;
  readonly #causes = new Map<string, string>();
  #change: Promise<void> = Promise.resolve();
  #paused = false;

  constructor(worker: PausableWorker, logger: Logger) {
    this.#worker = worker;
    this.#logger = logger;
  }

  /** Why nothing is taken; empty: jobs are taken. */
  get causes(): readonly string[] {
    return [...this.#causes.values()];
  }

  pause(cause: string, detail: string): void {
    if (!this.#causes.has(cause)) this.#logger.warn('intake paused', { cause, detail });
    this.#causes.set(cause, detail);
    this.#follow();
  }

  resume(cause: string): void {
    if (!this.#causes.delete(cause)) return;
    this.#logger.info('intake cause over', { cause, left: [...this.#causes.keys()] });
    this.#follow();
  }

  /** Changes run one after the other: BullMQ's pause and resume must not overlap. */
  #follow(): void {
    this.#change = this.#apply(this.#change);
  }

  async #apply(earlier: Promise<void>): Promise<void> {
    await earlier;
    const wanted = this.#causes.size > 0;
    if (wanted === this.#paused) return;
    this.#paused = wanted;
    try {
      if (wanted) await this.#worker.pause(true);
      else await this.#worker.resume();
    } catch (error) {
      // The next change tries again; one that failed must not keep later ones from being made.
      this.#paused = !wanted;
      this.#logger.error('the intake could not be changed', { wanted: wanted ? 'pause' : 'resume', error });
    }
  }
}
