import type { Redis } from 'ioredis';
import type { BatchId, Gate, HostKey, HostSnapshot, JobId, JobSnapshot } from '@holdoff/throttle-core';
import { type QueueNames, type UrlQueue, isUrlJobId, promoteCalled } from '@holdoff/url-job';

export interface IndexSweepParts {
  readonly gate: Pick<
    Gate,
    'finish' | 'inspectBatch' | 'inspectHost' | 'inspectJob' | 'listHosts' | 'listLane'
  >;
  readonly queue: Pick<UrlQueue, 'getBackend' | 'remove'>;
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly random01: () => number;
  /** Whether the inbox holds entries that were taken and not acknowledged: their jobs may be half-way into the queue. */
  readonly inboxPending: () => Promise<boolean>;
}

export interface IndexSweepReport {
  /** Hosts and waiting jobs looked at. */
  readonly looked: number;
  /** Jobs that the indexes had forgotten, or whose batch was cancelled: sent to a worker, which asks the gate anew. */
  readonly recalled: number;
  /** Ledgers closed because the queue no longer has the job. */
  readonly orphaned: number;
  /** Queue jobs removed because the ledger says that they have ended. */
  readonly removed: number;
}

const HOSTS_PER_SWEEP = 50;
const LANE_JOBS_PER_HOST = 100;
const DELAYED_PER_SWEEP = 200;
const RECALLED_MAX = 100;
/** The wheel looks at a due host within milliseconds; this late, its entry is lost. */
const OVERDUE_MS = 10_000;
/** A job can be in a ledger and not yet in the queue for as long as its enqueuing takes. */
const ORPHAN_AGE_MS = 900_000;

/**
 * Compares the gate's indexes with the queue, a bounded sample at a time, in both directions. Everything here is a
 * repair of what should not happen: the queue's fallback delays bring each job back even without it.
 */
export class IndexSweep {
  readonly #parts: IndexSweepParts;
  #hostCursor = '0';

  constructor(parts: IndexSweepParts) {
    this.#parts = parts;
  }

  async sweep(): Promise<IndexSweepReport> {
    const lanes = await this.#sweepLanes();
    const delayed = await this.#sweepDelayed();
    const recalled = [...lanes.recall, ...delayed.recall].slice(0, RECALLED_MAX);
    await promoteCalled(this.#parts.queue, recalled, { triesMax: 1 });
    return {
      looked: lanes.looked + delayed.looked,
      recalled: recalled.length,
      orphaned: lanes.orphaned,
      removed: delayed.removed,
    };
  }

  /** From the lanes to the queue: hosts that nobody looks at, and waiting jobs that the queue no longer has. */
  async #sweepLanes(): Promise<{
    readonly looked: number;
    readonly orphaned: number;
    readonly recall: JobId[];
  }> {
    const { gate } = this.#parts;
    const page = await gate.listHosts(this.#hostCursor, HOSTS_PER_SWEEP);
    this.#hostCursor = page.cursor ?? '0';
    const recall: JobId[] = [];
    let orphaned = 0;
    for (const host of page.hosts) {
      const snapshot = await gate.inspectHost(host);
      if (snapshot === undefined || snapshot.waiting === 0) continue;
      if (isForgotten(snapshot)) recall.push(...(await gate.listLane(host, 0, 1)));
      orphaned += await this.#closeOrphans(host, snapshot);
    }
    return { looked: page.hosts.length, orphaned, recall };
  }

  async #closeOrphans(host: HostKey, snapshot: HostSnapshot): Promise<number> {
    const { gate, redis } = this.#parts;
    const last = Math.max(0, snapshot.waiting - LANE_JOBS_PER_HOST);
    const offset = Math.floor(this.#parts.random01() * (last + 1));
    const lane = await gate.listLane(host, offset, LANE_JOBS_PER_HOST);
    const pipeline = redis.pipeline();
    for (const job of lane) pipeline.exists(this.#key(job));
    const replies = (await pipeline.exec()) ?? [];
    const missing = lane.filter((_, index) => replies[index]?.[1] === 0);
    if (missing.length === 0 || (await this.#parts.inboxPending())) return 0;
    let closed = 0;
    for (const job of missing) {
      const known = await gate.inspectJob(job);
      if (known === undefined || known.ended !== null) continue;
      if (snapshot.nowMs - known.facts.startedAtMs < ORPHAN_AGE_MS) continue;
      const evidence = 'the queue no longer has this job: it was removed there';
      const end = { kind: 'stopped', reason: 'cancelled' } as const;
      const reply = await gate.finish({ job, batch: known.batch, delivery: 0, end, evidence });
      if (reply.kind === 'finished') closed += 1;
      await promoteCalled(this.#parts.queue, reply.call, { triesMax: 1 });
    }
    return closed;
  }

  /** From the queue to the lanes: delayed jobs that wait for nothing, and such as have ended. */
  async #sweepDelayed(): Promise<{
    readonly looked: number;
    readonly removed: number;
    readonly recall: JobId[];
  }> {
    const { gate, queue, redis } = this.#parts;
    const total = await redis.zcard(this.#key('delayed'));
    const start = Math.floor(this.#parts.random01() * Math.max(1, total - DELAYED_PER_SWEEP));
    const ids = await redis.zrange(
      this.#key('delayed'),
      String(start),
      String(start + DELAYED_PER_SWEEP - 1),
    );
    const recall: JobId[] = [];
    let removed = 0;
    // One look for each batch. At a held host nobody else would call these jobs before its owner does.
    const cancelled = new Map<BatchId, boolean>();
    const isCancelled = async (batch: BatchId): Promise<boolean> => {
      const looked = cancelled.get(batch) ?? (await gate.inspectBatch(batch))?.cancelled ?? false;
      cancelled.set(batch, looked);
      return looked;
    };
    for (const id of ids.filter(isUrlJobId)) {
      const job = id as string as JobId;
      const known = await gate.inspectJob(job);
      // Not entered by us: it comes up at its own time, and the worker judges it.
      if (known === undefined) continue;
      if (known.ended !== null) removed += await queue.remove(id);
      else if (waitsForNothing(known) || (await isCancelled(known.batch))) recall.push(job);
    }
    return { looked: ids.length, removed, recall };
  }

  #key(name: string): string {
    return `${this.#parts.names.prefix}:${this.#parts.names.queue}:${name}`;
  }
}

function isForgotten(host: HostSnapshot): boolean {
  if (host.hold !== null) return false;
  return host.lookAtMs === null || host.lookAtMs < host.nowMs - OVERDUE_MS;
}

/** Its ledger knows no wait, or one in a lane that has lost it. */
function waitsForNothing({ waiting }: JobSnapshot): boolean {
  if (waiting === null) return true;
  return waiting.cause !== 'not_before' && waiting.place === null;
}
