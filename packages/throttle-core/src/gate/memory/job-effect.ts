import type { SettleReply, SettleRequest } from '../gate.ts';
import { CALL_AGAIN_MS } from './call-jobs.ts';
import { endJob } from './end-job.ts';
import { fallbackAt } from './fallback.ts';
import { readLeaseId } from './lease-id.ts';
import {
  type BatchEntry,
  type HostEntry,
  type JobEntry,
  type MemoryState,
  addTrail,
  laneScore,
} from './memory-state.ts';

interface Settling {
  readonly state: MemoryState;
  readonly job: JobEntry;
  readonly host: HostEntry;
  readonly batch: BatchEntry;
  readonly request: SettleRequest;
  readonly nowMs: number;
}

/** What one result does to its job: when its queue entry is due and why it waits; null: it does not. */
export function settleJob(settling: Settling): SettleReply['job'] {
  const { state, job, batch, request, nowMs } = settling;
  const effect = request.jobEffect;
  if (effect.kind === 'done' || effect.kind === 'stop') {
    const end = effect.kind === 'done' ? ({ kind: 'done' } as const) : stopped(effect.reason);
    endJob(state, job, batch, end, request.evidence.slice(0, EVIDENCE_MOST), nowMs);
    return null;
  }
  job.lease = '';
  if (readLeaseId(request.leaseId).purpose !== 'robots') job.wasThrottled = request.outcome === 'throttled';
  const due = apply(settling);
  job.waiting = due === null ? null : { cause: due.cause, untilMs: due.dueMs };
  addTrail(job, nowMs, effect.kind, request.evidence.slice(0, EVIDENCE_MOST));
  return due;
}

const EVIDENCE_MOST = 300;

function stopped<Reason>(reason: Reason): { readonly kind: 'stopped'; readonly reason: Reason } {
  return { kind: 'stopped', reason };
}

function apply({ job, host, batch, request, nowMs }: Settling): SettleReply['job'] {
  const effect = request.jobEffect;
  switch (effect.kind) {
    case 'continue':
      if (readLeaseId(request.leaseId).purpose !== 'robots') goOn(job, effect.uncounted === true);
      if (effect.notBeforeMs === undefined || effect.notBeforeMs === 0) return null;
      return { dueMs: postpone(job, effect.notBeforeMs, nowMs), cause: 'not_before' };
    case 'retry_at': {
      if (request.outcome === 'throttled') job.throttledInRun += 1;
      const dueMs = postpone(job, effect.notBeforeMs, nowMs);
      if (effect.uncounted === true && !effect.inPlace) job.uncounted = true;
      if (effect.inPlace) {
        job.reservedHost = host.host;
        job.reservedUntilMs = dueMs + request.rules.leaseMarginMs;
        host.leases.set(job.job, job.reservedUntilMs);
      }
      return { dueMs, cause: 'not_before' };
    }
    case 'defer':
      job.deferrals += 1;
      job.run += 1;
      job.throttledInRun = 0;
      batch.deferrals += 1;
      if (!job.awaitsRun) batch.away += 1;
      job.awaitsRun = true;
      return { dueMs: postpone(job, effect.notBeforeMs, nowMs), cause: 'not_before' };
    case 'release':
      // It is on its way back already: it keeps its place and is not called from the lane.
      host.called.set(job.job, nowMs + CALL_AGAIN_MS);
      return { dueMs: nowMs, cause: 'turn' };
    case 'hold':
      host.lane.set(job.job, laneScore(job));
      job.lane = host.host;
      return { dueMs: fallbackAt(host, host.lane.rank(job.job) ?? 0, job.deadlineMs, nowMs), cause: 'held' };
    case 'done':
    case 'stop':
      return null;
    default:
      return effect satisfies never;
  }
}

const REDELIVERIES_MOST = 3;

/** A redirect may go on without a new attempt; or the page may be fetched again for a result that was not taken. */
function goOn(job: JobEntry, uncounted: boolean): void {
  if (!uncounted) job.mayHop = true;
  else if (job.redeliveries < REDELIVERIES_MOST) {
    job.redeliveries += 1;
    job.uncounted = true;
  }
}

function postpone(job: JobEntry, notBeforeMs: number, nowMs: number): number {
  job.notBeforeMs = Math.ceil(notBeforeMs);
  return Math.max(nowMs, job.notBeforeMs);
}
