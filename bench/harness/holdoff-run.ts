import type { Fleet, FleetCost } from './fleet.ts';
import type { OriginProcess, Verdict } from './origin-process.ts';

export interface HoldoffTask {
  readonly origin: OriginProcess;
  /** Whose requests are judged. */
  readonly hosts: readonly string[];
  readonly urls: readonly string[];
  readonly batch: string;
  readonly workers: number;
  readonly budgetMs: number;
}

export interface HoldoffRun {
  readonly seen: Verdict;
  /** Ended within the budget, done or stopped. */
  readonly ended: number;
  readonly stopped: number;
  /** From the first to the last request that the origin saw, s. */
  readonly seconds: number;
  readonly enterSeconds: number;
  /** CPU time from the start of the workers to the end, s. */
  readonly cost: FleetCost;
  readonly hops: number;
}

/** Enters the URLs, then starts the workers and waits for the end: fetching and entering do not share the machine. */
export async function runHoldoff(fleet: Fleet, task: HoldoffTask): Promise<HoldoffRun> {
  const enterSeconds = await fleet.enter(task.batch, task.urls);
  const before = await fleet.cost();
  await fleet.startWorkers(task.workers);
  const startUp = (await fleet.cost()).workers;
  await fleet.ended(task.batch, task.urls.length, task.budgetMs);
  const after = await fleet.cost();
  const { done, stopped } = await fleet.progress(task.batch);
  const seen = await task.origin.judge(task.hosts);
  return {
    seen,
    ended: done + stopped,
    stopped,
    seconds: seen.seconds,
    enterSeconds,
    cost: {
      workers: after.workers === null || startUp === null ? null : after.workers - startUp,
      scheduler:
        after.scheduler === null || before.scheduler === null ? null : after.scheduler - before.scheduler,
      redis: after.redis - before.redis,
    },
    hops: await fleet.hops(),
  };
}

/** A free host has no reason to be learned slowly: what is measured is the path, not the caution. */
export const UNPACED = 'pace:\n  learn: off\n';
