import type { Logger } from '@holdoff/service-runtime';

/** What an answer taught and the gate has not yet taken. */
export interface Lesson {
  readonly job: string;
  readonly host: string;
  readonly attempt: number;
  readonly status: number;
  readonly outcome: string;
  /** What was decided for the job. */
  readonly decision: string;
  /** Absolute; 0: the answer closed nothing. */
  readonly cooldownUntilMs: number;
}

/** Log lines of one shutdown: a worker may have a thousand jobs in hand. */
const TOLD_MAX = 100;

/**
 * The answers that are known to this process alone, because the gate could not be reached when they came. While it tries
 * again they are here; what is here when it has to end is lost, and that is said: the attempt stays spent, its slot is
 * free again when the lease ends, the queue gives the job to another worker, but the wait that the server asked for is
 * not known to anybody.
 */
export class Unsettled {
  readonly #lessons = new Set<Lesson>();

  get count(): number {
    return this.#lessons.size;
  }

  /** Runs a settlement to its end. */
  async during<Reply>(lesson: Lesson, settle: () => Promise<Reply>): Promise<Reply> {
    this.#lessons.add(lesson);
    try {
      return await settle();
    } finally {
      this.#lessons.delete(lesson);
    }
  }

  /** Names what is lost if the process ends now. */
  tell(logger: Pick<Logger, 'error'>): void {
    if (this.#lessons.size === 0) return;
    const closing = [...this.#lessons].toSorted((a, b) => b.cooldownUntilMs - a.cooldownUntilMs);
    logger.error('answers are lost: Redis did not take them before this worker had to end', {
      answers: closing.length,
      hosts: [...new Set(closing.map(({ host }) => host))].slice(0, TOLD_MAX),
    });
    for (const { cooldownUntilMs, ...lesson } of closing.slice(0, TOLD_MAX)) {
      const cooldownUntil = cooldownUntilMs > 0 ? new Date(cooldownUntilMs).toISOString() : undefined;
      logger.error('lost answer', { ...lesson, cooldownUntil });
    }
  }
}
