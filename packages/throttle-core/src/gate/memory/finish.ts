import type { JobId } from '../../core/identifiers.ts';
import type { FinishReply, FinishRequest } from '../gate.ts';
import { unknownBatch } from './asking.ts';
import { callHost } from './call-jobs.ts';
import { endJob } from './end-job.ts';
import { type MemoryState, hostOf, newJob } from './memory-state.ts';
import { NO_HOST } from './no-host.ts';

const CALLS_MOST = 64;
const EVIDENCE_MOST = 300;

/** `redis/scripts/finish.lua` is the twin. */
export function finish(state: MemoryState, request: FinishRequest, nowMs: number): FinishReply {
  const known = state.jobs.get(request.job);
  if (known !== undefined) {
    if (known.end !== null) return { kind: 'already', end: known.end, call: [] };
    const live = known.lease !== '' && known.leaseUntilMs > nowMs;
    const stale = request.delivery === 0 ? live : request.delivery < known.delivery;
    if (stale || (request.delivery > 0 && known.batch !== request.batch))
      return { kind: 'stale', end: null, call: [] };
  }
  const batch = state.batches.get(request.batch) ?? unknownBatch(request, nowMs);
  state.batches.set(request.batch, batch);
  // Refused before it was ever entered: recorded, so that a repeated delivery finds its end.
  const job =
    known ??
    newJob({
      job: request.job,
      host: NO_HOST,
      batch: request.batch,
      priority: 0,
      sequence: 0,
      enteredAtMs: nowMs,
      deadlineMs: 0,
      notBeforeMs: 0,
    });
  if (known === undefined) {
    state.jobs.set(request.job, job);
    batch.jobs += 1;
  }
  if (job.lease !== '' && job.leaseHost !== null) hostOf(state, job.leaseHost).leases.delete(job.lease);
  const lane = job.lane ?? (job.lease === '' ? null : job.leaseHost) ?? job.host;
  const host = hostOf(state, lane);
  host.called.delete(job.job);
  endJob(state, job, batch, request.end, request.evidence.slice(0, EVIDENCE_MOST), nowMs);
  const call: JobId[] = [];
  if (host.known) callHost(state, host, nowMs, { most: CALLS_MOST, again: false }, call);
  return { kind: 'finished', end: request.end, call };
}
