import type { Redis } from 'ioredis';
import type { BatchId, Gate } from '@holdoff/throttle-core';
import type { QueueNames } from '@holdoff/url-job';
import { RedisScript } from '../scripts/redis-script.ts';
import { runJobId, type ScheduleQueue } from './schedule-queue.ts';

/** The latest run of a schedule. */
export interface LatestRun {
  readonly batch: string;
  /** Id of the last inbox entry that it sent; empty: it sent none; null: it is not done sending. */
  readonly lastEntry: string | null;
  /** The run before it, whose deferred URLs it takes along; absent: none. */
  readonly from?: string | undefined;
}

export interface RunStateParts {
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly queue: ScheduleQueue;
  readonly gate: Pick<Gate, 'inspectBatch'>;
}

const claimRun = new RedisScript('claim-run');

/** What the fleet knows of the runs of each schedule: the latest one, and the one that waits for its end. */
export class RunState {
  readonly #parts: RunStateParts;

  constructor(parts: RunStateParts) {
    this.#parts = parts;
  }

  /** `raw` is what a claim is made against. */
  async latest(name: string): Promise<{ readonly raw: string; readonly run: LatestRun | null }> {
    const raw = await this.#parts.redis.hget(this.#parts.names.scheduleRuns, name);
    return { raw: raw ?? '', run: raw === null ? null : (JSON.parse(raw) as LatestRun) };
  }

  /** False: another run began meanwhile. */
  async begin(name: string, seen: string, batch: string, from: string | undefined): Promise<boolean> {
    const { redis, names } = this.#parts;
    const run = JSON.stringify({ batch, lastEntry: null, from } satisfies LatestRun);
    return (await claimRun.run(redis, [names.scheduleRuns], [name, seen, run, batch])) === 1;
  }

  async sent(name: string, batch: string, lastEntry: string): Promise<void> {
    const run = JSON.stringify({ batch, lastEntry } satisfies LatestRun);
    await this.#parts.redis.hset(this.#parts.names.scheduleRuns, name, run);
  }

  /** Whether every URL of a run has ended or waits for a later run, or none will be entered any more. */
  async isOver({ batch, lastEntry }: LatestRun): Promise<boolean> {
    const { redis, names, gate } = this.#parts;
    if (lastEntry === null) return !(await this.#isLive(batch));
    if (lastEntry === '') return true;
    // Entries leave the inbox once they are entered, so that an older one still in it means: not all are in.
    if ((await redis.xrange(names.inbox, '-', lastEntry, 'COUNT', 1)).length > 0) return false;
    const snapshot = await gate.inspectBatch(batch as BatchId);
    if (snapshot === undefined || snapshot.cancelled) return true;
    const { jobs, away, movedOn } = snapshot;
    return jobs.done + jobs.stopped + away + movedOn >= jobs.total;
  }

  /** Takes the one place in which a run may wait for the one before it. False: another run waits there. */
  async queueUp(name: string, batch: string): Promise<boolean> {
    const { redis, names } = this.#parts;
    const field = `${name}:queued`;
    if ((await redis.hsetnx(names.scheduleRuns, field, batch)) === 1) return true;
    const holder = await redis.hget(names.scheduleRuns, field);
    if (holder === batch) return true;
    if (holder !== null && (await this.#isLive(holder))) return false;
    await redis.hset(names.scheduleRuns, field, batch);
    return true;
  }

  /** The run that waits, if it is another one than `batch`. */
  async isOtherQueued(name: string, batch: string): Promise<boolean> {
    const holder = await this.#parts.redis.hget(this.#parts.names.scheduleRuns, `${name}:queued`);
    return holder !== null && holder !== batch && (await this.#isLive(holder));
  }

  async #isLive(batch: string): Promise<boolean> {
    const job = await this.#parts.queue.getJob(runJobId(batch));
    if (job === undefined) return false;
    const state = await job.getState();
    return state !== 'completed' && state !== 'failed' && state !== 'unknown';
  }
}
