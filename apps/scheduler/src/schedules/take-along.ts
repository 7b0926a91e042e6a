import type { Redis } from 'ioredis';
import type { BatchId, Gate, JobId } from '@holdoff/throttle-core';
import {
  isUrlJobId,
  parseUrlJob,
  type QueueNames,
  type UrlJob,
  type UrlQueue,
  urlJobId,
} from '@holdoff/url-job';

export interface TakeAlongParts {
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly urlQueue: Pick<UrlQueue, 'getJob'>;
  readonly gate: Pick<Gate, 'inspectBatch' | 'joinRun'>;
}

const IDS_PER_TRIP = 1_000;
/** As long as the ledger remembers a job. */
const REMEMBERED_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Jobs of the run before that were deferred and not sent since join this run, each under its old id. Resolves to the
 * requests (`requestKey`) that are in this run now by that, and must not be entered a second time. May be done again:
 * what has joined already is found by what its queue job says.
 */
export async function takeAlong(
  from: BatchId,
  to: BatchId,
  parts: TakeAlongParts,
): Promise<ReadonlySet<string>> {
  const taken = new Set<string>();
  const before = await parts.gate.inspectBatch(from);
  if (before === undefined || before.away + before.movedOn === 0) return taken;
  for await (const ids of waitingIds(parts)) {
    for (const { id, job } of await readJobs(ids, parts)) {
      if (job.batch === to && job.bornIn !== undefined) taken.add(requestKey(job));
      if (job.batch !== from) continue;
      if ((await parts.gate.joinRun({ job: id, from, to })) === 'no') continue;
      // Until this is written its deliveries are put back: the gate knows the job under its new batch only.
      const queued = await parts.urlQueue.getJob(id);
      await queued?.updateData({ ...job, batch: to, bornIn: job.bornIn ?? job.batch });
      taken.add(requestKey(job));
      await rememberAsFollowed(job, to, parts);
    }
  }
  return taken;
}

export function requestKey({ method, url }: Pick<UrlJob, 'method' | 'url'>): string {
  return `${method} ${url}`;
}

/** A page or a sitemap of the new run that names it again must not enter it beside itself. */
async function rememberAsFollowed(job: UrlJob, to: BatchId, { redis, names }: TakeAlongParts): Promise<void> {
  const key = `${names.followed}${to}`;
  await redis.sadd(key, urlJobId({ ...job, batch: to }));
  await redis.pexpire(key, REMEMBERED_MS);
}

/** Every job of the queue that waits, those on their way to a worker included. */
async function* waitingIds({ redis, names }: TakeAlongParts): AsyncGenerator<readonly string[]> {
  const key = (name: string): string => `${names.prefix}:${names.queue}:${name}`;
  let cursor = '0';
  do {
    const [next, page] = await redis.zscan(key('delayed'), cursor, 'COUNT', IDS_PER_TRIP);
    cursor = next;
    yield page.filter((_, index) => index % 2 === 0);
  } while (cursor !== '0');
  yield redis.lrange(key('wait'), 0, -1);
  yield redis.lrange(key('active'), 0, -1);
}

async function readJobs(
  ids: readonly string[],
  { redis, names }: TakeAlongParts,
): Promise<readonly { readonly id: JobId; readonly job: UrlJob }[]> {
  const ours = ids.filter(isUrlJobId);
  const pipeline = redis.pipeline();
  for (const id of ours) pipeline.hget(`${names.prefix}:${names.queue}:${id}`, 'data');
  const replies = (await pipeline.exec()) ?? [];
  return ours.flatMap((id, index) => {
    const job = readJob(replies[index]?.[1], id);
    return job === null ? [] : [{ id: id as string as JobId, job }];
  });
}

/** null: unreadable, which is the poison sweep's to judge. */
function readJob(data: unknown, id: string): UrlJob | null {
  if (typeof data !== 'string') return null;
  try {
    const read = parseUrlJob(JSON.parse(data), id);
    return read.kind === 'ok' ? read.value : null;
  } catch {
    return null;
  }
}
