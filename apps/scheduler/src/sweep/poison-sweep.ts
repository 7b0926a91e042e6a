import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Gate, JobId } from '@holdoff/throttle-core';
import type { Logger } from '@holdoff/service-runtime';
import { type QueueNames, type UrlQueue, isUrlJobId, promoteCalled, showValue } from '@holdoff/url-job';
import { RedisScript } from '../scripts/redis-script.ts';
import { FIELD_BYTES_MAX, type PoisonReason, judgeJob } from './judge-job.ts';

export interface PoisonSweepParts {
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly queue: Pick<UrlQueue, 'getBackend'>;
  readonly gate: Pick<Gate, 'finish' | 'inspectJob'>;
  readonly logger: Logger;
  readonly buried: (reason: PoisonReason) => void;
}

const JOBS_PER_SWEEP_MAX = 10_000;
const JOBS_PER_TRIP = 100;
const DEAD_KEPT = 10_000;
const RAW_BYTES_KEPT = 65_536;
const FIELDS = ['data', 'opts', 'progress', 'parent'] as const;
/** Names of BullMQ's own keys beside the jobs: whatever a foreign producer made of one, it is no job to remove. */
const OWN_KEYS = new Set([
  'active',
  'wait',
  'waiting-children',
  'paused',
  'id',
  'delayed',
  'prioritized',
  'stalled-check',
  'completed',
  'failed',
  'stalled',
  'repeat',
  'limiter',
  'meta',
  'events',
  'pc',
  'marker',
  'de',
]);

const buryJob = new RedisScript('bury-job');

/**
 * Looks at the jobs that workers hold, since that is where an unreadable one always is or soon will be, and takes the
 * unreadable ones out. Bounded by what is active, not by the backlog. Resolves to the number buried.
 */
export async function sweepPoison(parts: PoisonSweepParts): Promise<number> {
  const key = (name: string): string => `${parts.names.prefix}:${parts.names.queue}:${name}`;
  const active = await parts.redis.lrange(key('active'), 0, JOBS_PER_SWEEP_MAX - 1);
  const ids = active.filter((id) => !OWN_KEYS.has(id));
  let buried = 0;
  for (let start = 0; start < ids.length; start += JOBS_PER_TRIP) {
    for (const judged of await judgeJobs(parts.redis, ids.slice(start, start + JOBS_PER_TRIP), key)) {
      if (await bury(parts, judged, key)) buried += 1;
    }
  }
  return buried;
}

interface Judged {
  readonly id: string;
  readonly reason: PoisonReason;
  readonly dataSha1: string;
  readonly optsSha1: string;
}

async function judgeJobs(
  redis: Redis,
  ids: readonly string[],
  key: (name: string) => string,
): Promise<readonly Judged[]> {
  const lengths = redis.pipeline();
  for (const id of ids) for (const field of FIELDS) lengths.hstrlen(key(id), field);
  const sizes = (await lengths.exec()) ?? [];
  const judged: Judged[] = [];
  for (const [index, id] of ids.entries()) {
    const ofJob = sizes.slice(index * FIELDS.length, (index + 1) * FIELDS.length).map((reply) => reply[1]);
    // Not a hash, or gone by now.
    if (ofJob.some((size) => typeof size !== 'number') || ofJob.every((size) => size === 0)) continue;
    const oversized = ofJob.some((size) => typeof size === 'number' && size > FIELD_BYTES_MAX);
    const raw = await redis.hmgetBuffer(key(id), ...FIELDS);
    const text = (at: number): string | null => raw[at]?.toString() ?? null;
    const reason = oversized
      ? 'oversized'
      : judgeJob({ data: text(0), opts: text(1), progress: text(2), parent: text(3) });
    if (reason !== null) judged.push({ id, reason, dataSha1: sha1(raw[0]), optsSha1: sha1(raw[1]) });
  }
  return judged;
}

async function bury(
  parts: PoisonSweepParts,
  judged: Judged,
  key: (name: string) => string,
): Promise<boolean> {
  const { redis, names, logger } = parts;
  const { id, reason } = judged;
  const keys = [key(id), key(`${id}:lock`), names.dead];
  keys.push(...['active', 'wait', 'paused', 'prioritized', 'delayed', 'stalled'].map(key));
  const args = [id, reason, DEAD_KEPT, RAW_BYTES_KEPT, judged.dataSha1, judged.optsSha1];
  if ((await buryJob.run(redis, keys, args)) !== 1) return false;
  parts.buried(reason);
  logger.error('unreadable queue job moved to the dead', { job: showValue(id), reason, stream: names.dead });
  if (isUrlJobId(id)) await endLedger(parts, id as string as JobId, reason);
  return true;
}

async function endLedger(
  { gate, queue }: Pick<PoisonSweepParts, 'gate' | 'queue'>,
  job: JobId,
  reason: PoisonReason,
): Promise<void> {
  const known = await gate.inspectJob(job);
  if (known === undefined || known.ended !== null) return;
  const { call } = await gate.finish({
    job,
    batch: known.batch,
    delivery: 0,
    end: { kind: 'stopped', reason: 'poison' },
    evidence: `queue job ${reason}`,
  });
  await promoteCalled(queue, call, { triesMax: 1 });
}

function sha1(value: Buffer | null | undefined): string {
  return value === null || value === undefined ? '' : createHash('sha1').update(value).digest('hex');
}
