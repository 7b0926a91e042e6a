import type { Redis } from 'ioredis';
import { type Logger, inspectRedis } from '@holdoff/service-runtime';

export interface RedisWatchOptions {
  readonly redis: Redis;
  readonly logger: Logger;
  readonly clockSkewMsMax: number;
}

/** Whether the Redis server is one to work with. Warnings are logged once; problems while they last. */
export class RedisWatch {
  readonly #options: RedisWatchOptions;
  readonly #warned = new Set<string>();
  #problem: string | null = 'not looked at yet';
  #server = 'unknown';

  constructor(options: RedisWatchOptions) {
    this.#options = options;
  }

  /** Why this server cannot be used, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  get server(): string {
    return this.#server;
  }

  async look(): Promise<void> {
    const { redis, logger, clockSkewMsMax } = this.#options;
    const report = await inspectRedis(redis, { clockSkewMsMax, wallClockMs: Date.now });
    for (const warning of report.warnings) {
      if (!this.#warned.has(warning)) logger.warn('Redis', { server: report.server, warning });
      this.#warned.add(warning);
    }
    const problem = report.problems.length > 0 ? report.problems.join('; ') : null;
    if (problem !== null && problem !== this.#problem)
      logger.error('Redis', { server: report.server, problem });
    this.#problem = problem;
    this.#server = report.server;
  }
}
