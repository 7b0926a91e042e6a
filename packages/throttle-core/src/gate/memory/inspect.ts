import { whyPaceHolds } from '../../core/explain-pace.ts';
import type { LeaseId } from '../../core/identifiers.ts';
import { NEW_PACE } from '../../core/pace.ts';
import type { BatchSnapshot, HostSnapshot, JobSnapshot, TrailEntry } from '../gate.ts';
import { MICRO, factsOf } from './job-facts.ts';
import {
  type BatchEntry,
  type HostEntry,
  type JobEntry,
  type MemoryState,
  batchTokens,
  hostOf,
} from './memory-state.ts';

export function snapshotHost(state: MemoryState, host: HostEntry, nowMs: number): HostSnapshot {
  const { circuit, pace, leases } = host;
  return {
    host: host.host,
    nowMs,
    cooldownUntilMs: host.cooldownUntilMs,
    hold: host.hold,
    circuit: {
      state: circuit.state,
      generation: circuit.generation,
      openUntilMs: circuit.openUntilMs,
      opens: circuit.opens,
      consecutiveResponses: circuit.responses,
      consecutiveEvents: circuit.events,
      probe:
        circuit.probe === '' ? null : { leaseId: circuit.probe as LeaseId, untilMs: circuit.probeUntilMs },
    },
    epoch: host.epoch,
    noHintEvents: host.noHintEvents,
    pace: {
      effectiveIntervalMs: host.intervalMs,
      learnedIntervalMs: pace.intervalMs,
      phase: pace.phase,
      lastCeilingIntervalMs: pace.ceilingMs,
      lastEventAtMs: pace.eventAtMs,
      nextAtMs: pace.nextAtMs,
      override: host.override,
      heldBack: whyPaceHolds(pace, host.override, host.intervalMs, nowMs),
    },
    tokensLeft: host.tokens === null ? null : Math.floor(host.tokens / MICRO),
    why: host.why,
    whyAtMs: host.whyAtMs,
    leases: leases.after(nowMs).map((member) => ({
      leaseId: member as LeaseId,
      untilMs: leases.score(member) ?? 0,
    })),
    waiting: host.lane.size,
    called: host.called.size,
    lookAtMs: state.wheel.score(host.host) ?? null,
  };
}

/** What a reset of the learner keeps: instants that are given to others already. */
export function forgetPace({ pace }: HostEntry): HostEntry['pace'] {
  const { nextAtMs, reopening, scoutUntilMs } = pace;
  return { ...NEW_PACE, nextAtMs, reopening, scoutUntilMs };
}

export function snapshotJob(state: MemoryState, job: JobEntry): JobSnapshot {
  const host = hostOf(state, job.host);
  const place = job.lane === null ? null : hostOf(state, job.lane).lane.rank(job.job);
  return {
    job: job.job,
    host: job.host,
    batch: job.batch,
    facts: factsOf(job, host, state.batches.get(job.batch), host.tokens),
    ended: job.end,
    endedAtMs: job.endedAtMs,
    waiting:
      job.waiting === null ? null : { ...job.waiting, place, scope: job.lane === job.host ? null : job.lane },
    awaitsRun: job.awaitsRun,
    priority: job.priority,
    requests: job.requests,
    bytes: job.bytes,
    trail: trailOf(job),
  };
}

/** The kept lines, and what the ledger knows without one: entered, last admission, end. Newest first. */
function trailOf(job: JobEntry): TrailEntry[] {
  const entries = [...job.trail];
  if (job.end !== null && entries[0]?.event !== 'ended') {
    entries.unshift({ atMs: job.endedAtMs, event: 'ended', detail: job.lastEvidence });
  }
  if (job.lease !== '') {
    entries.unshift({ atMs: job.admittedAtMs, event: 'admitted', detail: `attempt ${job.attempts}` });
  }
  entries.push({ atMs: job.enteredAtMs, event: 'entered', detail: `batch ${job.batch}` });
  return entries;
}

export function snapshotBatch(entry: BatchEntry): BatchSnapshot {
  const { defaults } = entry;
  return {
    batch: entry.batch,
    owner: defaults.owner,
    approved: entry.approved,
    cancelled: entry.cancelled,
    createdAtMs: entry.createdAtMs,
    deadlineMs: defaults.deadlineMs,
    tokens: batchTokens(entry),
    jobs: { total: entry.jobs, done: entry.done, stopped: entry.stopped },
    stoppedBy: Object.fromEntries(entry.stoppedBy),
    away: entry.away,
    movedOn: entry.moved,
    attempts: entry.attempts,
    resends: entry.tokensSpent,
    requests: entry.requests,
    recovered: entry.recovered,
    deferrals: entry.deferrals,
    throttled: entry.throttled,
    bytes: entry.bytes,
    costMicros: entry.costMicros,
    spend: defaults.spend,
  };
}
