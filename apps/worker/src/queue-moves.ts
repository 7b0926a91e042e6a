import type { UrlJob } from '@holdoff/url-job';
import type { Stores } from './stores.ts';

/** Moves of a queue job in time, on Redis' clock. This machine's own may be an hour off until its guard notices. */
export interface QueueMoves {
  /** `data`: what the job goes on with; null: as it is. Rejects, and changes nothing, where the job's lock is not ours. */
  moveToDelayed(job: string, untilMs: number, token: string | undefined, data: UrlJob | null): Promise<void>;
  /** Redis' time; waits for as long as Redis is away. */
  nowMs(): Promise<number>;
}

/**
 * BullMQ's own `job.moveToDelayed` counts the delay from this machine's clock and never below zero, so that a machine
 * an hour ahead would put every job an hour away. The backend takes the instant as it is: a delay of zero after it.
 */
export function queueMoves({ queue, queueRedis }: Pick<Stores, 'queue' | 'queueRedis'>): QueueMoves {
  return {
    async moveToDelayed(job, untilMs, token, data) {
      const changed = data === null ? {} : { fieldsToUpdate: { data: JSON.stringify(data) } };
      await queue.getBackend().moveToDelayed(job, untilMs, 0, token, { skipAttempt: true, ...changed });
    },
    async nowMs() {
      const [seconds, micros] = await queueRedis.time();
      return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
    },
  };
}
