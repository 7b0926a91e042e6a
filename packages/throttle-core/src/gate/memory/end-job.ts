import type { JobEnd } from '../gate.ts';
import { type BatchEntry, type JobEntry, type MemoryState, addTrail, hostOf } from './memory-state.ts';

const SHORT_EVIDENCE_BYTES = 60;
const encoder = new TextEncoder();

/** Ends a job: its places in lane, calls, slots and deadlines go; its ledger keeps what an audit needs. */
export function endJob(
  state: MemoryState,
  job: JobEntry,
  batch: BatchEntry,
  end: JobEnd,
  evidence: string,
  nowMs: number,
): void {
  if (job.lane !== null) {
    const host = hostOf(state, job.lane);
    host.lane.delete(job.job);
    host.called.delete(job.job);
  }
  if (job.reservedHost !== null) hostOf(state, job.reservedHost).leases.delete(job.job);
  state.deadlines.delete(job.job);
  if (job.awaitsRun) batch.away -= 1;
  const short = encoder.encode(evidence).length <= SHORT_EVIDENCE_BYTES;
  if (!short) addTrail(job, nowMs, 'ended', evidence);
  Object.assign(job, {
    end,
    awaitsRun: false,
    endedAtMs: nowMs,
    lastEvidence: short ? evidence : '',
    lease: '',
    lane: null,
    waiting: null,
    reservedHost: null,
    reservedUntilMs: 0,
  } satisfies Partial<JobEntry>);
  if (end.kind === 'done') {
    batch.done += 1;
    if (job.attempts > 1) batch.recovered += 1;
  } else {
    batch.stopped += 1;
    batch.stoppedBy.set(end.reason, (batch.stoppedBy.get(end.reason) ?? 0) + 1);
  }
}
