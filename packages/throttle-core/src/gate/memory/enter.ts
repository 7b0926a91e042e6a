import type { HostKey } from '../../core/identifiers.ts';
import type { EnterReply, EnterRequest, EnteringJob, WaitCause } from '../gate.ts';
import { CALL_AGAIN_MS, onTheirWay } from './call-jobs.ts';
import { fallbackAt } from './fallback.ts';
import { type Barrier, hostBarrier, liveLeases } from './host-barrier.ts';
import {
  type BatchEntry,
  type HostEntry,
  type JobEntry,
  type MemoryState,
  hostOf,
  laneScore,
  newBatch,
  newJob,
} from './memory-state.ts';

/** A host as one `enter` sees it. */
interface Entrance {
  readonly host: HostEntry;
  readonly barrier: Barrier | null;
  free: number;
  joined: boolean;
}

/** `redis/scripts/enter.lua` is the twin. */
export function enter(state: MemoryState, request: EnterRequest, nowMs: number): readonly EnterReply[] {
  const batch = state.batches.get(request.batch) ?? newBatch(request.batch, request.batchDefaults, nowMs);
  state.batches.set(request.batch, batch);
  const entrances = new Map<HostKey, Entrance>();
  const entranceOf = (entering: Pick<EnteringJob, 'host' | 'rules'>): Entrance => {
    const entrance = entrances.get(entering.host) ?? openEntrance(state, entering, nowMs);
    entrances.set(entering.host, entrance);
    return entrance;
  };
  const replies = request.jobs.map((entering): EnterReply => {
    const known = state.jobs.get(entering.job);
    if (known !== undefined) return duplicate(state, known, nowMs);
    if (batch.cancelled) return { kind: 'refused', job: entering.job, reason: 'cancelled' };
    const job = register(state, batch, entering, nowMs);
    if (job.notBeforeMs > nowMs) {
      job.waiting = { cause: 'not_before', untilMs: job.notBeforeMs };
      return { kind: 'wait', job: job.job, cause: 'not_before', fallbackMs: job.notBeforeMs };
    }
    return place(entranceOf(entering), job, nowMs);
  });
  for (const { host, barrier, joined } of entrances.values()) {
    if (!joined || barrier?.cause === 'held') continue;
    state.wheel.setLower(host.host, barrier?.fallsAtMs ?? nowMs + CALL_AGAIN_MS);
  }
  return replies;
}

function openEntrance(
  state: MemoryState,
  { host: name, rules }: Pick<EnteringJob, 'host' | 'rules'>,
  nowMs: number,
): Entrance {
  const host = hostOf(state, name);
  if (!host.known) {
    host.known = true;
    host.cap = rules.concurrency;
  }
  const free = rules.concurrency - liveLeases(host, nowMs) - onTheirWay(host, nowMs).occupied;
  return { host, barrier: hostBarrier(host, nowMs), free, joined: false };
}

function register(state: MemoryState, batch: BatchEntry, entering: EnteringJob, nowMs: number): JobEntry {
  state.sequence += 1;
  const own = Math.floor(entering.deadlineMs);
  const shared = batch.defaults.deadlineMs;
  const job = newJob({
    job: entering.job,
    host: entering.host,
    batch: batch.batch,
    priority: entering.priority,
    sequence: state.sequence,
    enteredAtMs: nowMs,
    deadlineMs: shared > 0 && (own === 0 || shared < own) ? shared : own,
    notBeforeMs: Math.ceil(entering.notBeforeMs),
  });
  state.jobs.set(job.job, job);
  if (job.deadlineMs > 0) state.deadlines.set(job.job, job.deadlineMs);
  batch.jobs += 1;
  return job;
}

/** At most about `concurrency` jobs are told `go` before they were admitted; the rest wait in the lane. */
function place(entrance: Entrance, job: JobEntry, nowMs: number): EnterReply {
  const { host } = entrance;
  const cause = whyWait(entrance);
  if (cause === null) {
    entrance.free -= 1;
    host.called.set(job.job, nowMs + CALL_AGAIN_MS);
    return { kind: 'go', job: job.job };
  }
  host.lane.set(job.job, laneScore(job));
  job.lane = host.host;
  entrance.joined = true;
  const fallbackMs = fallbackAt(host, host.lane.size - 1, job.deadlineMs, nowMs);
  job.waiting = { cause, untilMs: fallbackMs };
  return { kind: 'wait', job: job.job, cause, fallbackMs };
}

function whyWait({ host, barrier, free }: Entrance): WaitCause | null {
  if (barrier !== null) return barrier.cause;
  if (host.lane.size > 0) return 'turn';
  return free <= 0 ? 'slots' : null;
}

function duplicate(state: MemoryState, known: JobEntry, nowMs: number): EnterReply {
  return {
    kind: 'duplicate',
    job: known.job,
    ended: known.end,
    fallbackMs: comesBackAt(state, known, nowMs),
  };
}

function comesBackAt(state: MemoryState, job: JobEntry, nowMs: number): number {
  if (job.end !== null) return 0;
  if (job.notBeforeMs > nowMs) return job.notBeforeMs;
  return job.lane === null ? nowMs : fallbackAt(hostOf(state, job.lane), 0, job.deadlineMs, nowMs);
}
