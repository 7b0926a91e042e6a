import type { Redis } from 'ioredis';
import type { UrlQueue } from '@holdoff/url-job';

export interface PressureLimits {
  /** Live jobs (waiting, delayed, active) from which the inbox is left alone. */
  readonly backlogMax: number;
  /** Share of Redis' maxmemory from which it is; a full Redis cannot renew a lock any more. */
  readonly memoryShareMax: number;
}

/**
 * Whether more jobs may be taken in. An entry costs Redis about a fifth of a job, so under pressure the inbox is
 * where URLs should wait. Looked at now and then, not for each batch: both limits leave room for what a
 * few seconds bring.
 */
export class IntakePressure {
  readonly #redis: Redis;
  readonly #queue: Pick<UrlQueue, 'getJobCounts'>;
  readonly #limits: PressureLimits;
  #problem: string | null = null;

  constructor(redis: Redis, queue: Pick<UrlQueue, 'getJobCounts'>, limits: PressureLimits) {
    this.#redis = redis;
    this.#queue = queue;
    this.#limits = limits;
  }

  /** Why nothing may be taken in, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  async look(): Promise<void> {
    this.#problem = (await this.#memoryProblem()) ?? (await this.#backlogProblem());
  }

  async #memoryProblem(): Promise<string | null> {
    const info = await this.#redis.info('memory');
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);
    const most = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
    if (most === 0 || used < most * this.#limits.memoryShareMax) return null;
    return `Redis uses ${Math.round((100 * used) / most)} % of its maxmemory`;
  }

  async #backlogProblem(): Promise<string | null> {
    const counts = await this.#queue.getJobCounts('wait', 'prioritized', 'delayed', 'active');
    const live = Object.values(counts).reduce((sum, count) => sum + count, 0);
    return live < this.#limits.backlogMax ? null : `${live} live jobs, ${this.#limits.backlogMax} at most`;
  }
}
