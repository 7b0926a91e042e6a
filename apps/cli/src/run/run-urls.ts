import { setTimeout as delay } from 'node:timers/promises';
import type { BatchId } from '@holdoff/throttle-core';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import { queueNames } from '@holdoff/url-job';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { fillInbox } from './fill-inbox.ts';
import { STOP_WITHIN_MS, startFleet } from './fleet.ts';
import { OrphanGuard } from './orphan-guard.ts';
import type { ProgressView } from './progress-view.ts';
import type { RunRequests } from './read-requests.ts';
import { RunFault, type RunOptions } from './run-options.ts';
import { listKeyOf, RunRecords } from './run-record.ts';
import { openRunStore, publishRunPolicy, type RunStore } from './run-store.ts';
import { type RunSummary, summarize } from './run-summary.ts';
import { watchBatch } from './watch-batch.ts';

const LOOK_EVERY_MS = 200;
const HOSTS_SHOWN = 6;

export interface RunInput {
  readonly options: RunOptions;
  readonly requests: RunRequests;
  readonly view: ProgressView;
  readonly environment: NodeJS.ProcessEnv;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/**
 * One run on one machine: the store, the policy, the processes, the URLs, and a watch over them until all have
 * ended or the user has had enough. Everything that was started is ended again, whatever happens.
 */
export async function runUrls(
  input: RunInput,
): Promise<{ readonly summary: RunSummary; readonly ended: boolean }> {
  const { options, environment } = input;
  const folder = await openDataFolder(options.dataDir, environment['PATH'] ?? '');
  const guard = new OrphanGuard(STOP_WITHIN_MS);
  try {
    const redis = options.redisUrl === null ? await startStore(folder) : null;
    if (redis !== null) guard.watchStore(redis.pid());
    try {
      const store = await openRunStore(redis?.url ?? options.redisUrl ?? '', options.deployment);
      try {
        return await runWith(input, { folder, store, guard });
      } finally {
        store.close();
      }
    } finally {
      await redis?.stop();
    }
  } finally {
    guard.release();
    await folder.release();
  }
}

async function startStore(folder: DataFolder): ReturnType<DataFolder['startRedis']> {
  try {
    return await folder.startRedis();
  } catch (error) {
    throw new RunFault(error instanceof Error ? error.message : 'the store did not start', error);
  }
}

interface Ground {
  readonly folder: DataFolder;
  readonly store: RunStore;
  readonly guard: OrphanGuard;
}

async function runWith(input: RunInput, { folder, store, guard }: Ground) {
  const { options, requests, view, environment, signal } = input;
  await publishRunPolicy(store, options);
  const records = new RunRecords(folder.path);
  const key = listKeyOf(requests.urls);
  const begun =
    options.batch === null ? await records.begin(key, new Date()) : { batch: options.batch, resumed: false };
  if (begun.resumed) view.say(`going on with ${begun.batch}`);

  if (options.batch !== null) await refuseCancelled(store, options.batch);

  const failed = new AbortController();
  const fleet = startFleet({
    options,
    redisUrl: store.url,
    logs: folder.logs,
    environment,
    say: (line) => view.say(line),
    fail: (fault) => failed.abort(fault),
    onProcesses: (pids) => guard.watchServices(pids),
  });
  const startedAt = performance.now();
  try {
    const names = queueNames(options.deployment);
    const lastEntry = await fillInbox(store.redis, names, begun.batch, requests.urls, () => undefined);
    const patience = new Patience(() => signal.aborted || failed.signal.aborted);
    const progress = await patience.through(() =>
      watchBatch({
        gate: store.gate,
        batch: begun.batch as BatchId,
        total: requests.urls.length,
        inboxLength: async () => {
          // A handler adds entries of its own; they may stand anywhere behind ours.
          if (options.handler !== null) return store.redis.xlen(names.inbox);
          // A batch of ours has nothing to come beyond its total. One that the user named may have ended URLs of
          // earlier lists: its figures mean nothing for this list until the entries of this list were taken.
          if (options.batch === null || lastEntry === null) return 0;
          return (await store.redis.xrange(names.inbox, '-', lastEntry, 'COUNT', 1)).length;
        },
        hosts: requests.hosts,
        hostsShown: HOSTS_SHOWN,
        everyMs: LOOK_EVERY_MS,
        sleep: (ms) => delay(ms, undefined, { signal }).catch(() => undefined),
        show: (seen) => {
          patience.answered();
          view.show(seen);
        },
        stopped: () => signal.aborted || failed.signal.aborted,
      }),
    );
    if (failed.signal.aborted) throw failed.signal.reason;
    if (progress.ended && options.batch === null) await records.finish(key);
    const facts = {
      name: begun.batch,
      urls: progress.total,
      refused: requests.refused.length,
      results: options.resultsDir,
    };
    const batch = await store.gate.inspectBatch(begun.batch as BatchId);
    const summary = summarize(batch, { ...facts, seconds: (performance.now() - startedAt) / 1_000 });
    return { summary, ended: progress.ended };
  } finally {
    if (signal.aborted) view.say('stopping: requests in flight may finish');
    await fleet.stop();
  }
}

/** Its gate refuses every further URL. */
async function refuseCancelled(store: RunStore, batch: string): Promise<void> {
  const known = await store.gate.inspectBatch(batch as BatchId);
  if (known?.cancelled === true)
    throw new RunFault(
      `batch ${batch} was cancelled and takes no URL any more: name another one with --batch`,
    );
}

/** How long Redis may be away before the run counts as failed. */
const AWAY_MS_MAX = 60_000;

/** A store that is away for a moment is an event of the fleet, not the end of the run. */
class Patience {
  readonly #enough: () => boolean;
  #answeredAtMs = performance.now();

  constructor(enough: () => boolean) {
    this.#enough = enough;
  }

  answered(): void {
    this.#answeredAtMs = performance.now();
  }

  /** @throws RunFault when the store has not answered for a minute, or the user has had enough of its absence */
  async through<Result>(watch: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await watch();
      } catch (error) {
        if (!(error instanceof GateUnavailable)) throw error;
        if (this.#enough())
          throw new RunFault('stopped while Redis was away; the same command goes on later', error);
        if (performance.now() - this.#answeredAtMs > AWAY_MS_MAX)
          throw new RunFault(
            'Redis went away and did not come back within a minute; the same command goes on later',
            error,
          );
        await delay(LOOK_EVERY_MS);
      }
    }
  }
}
