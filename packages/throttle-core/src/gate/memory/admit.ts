import type { LeaseId } from '../../core/identifiers.ts';
import { commitPace, limitPace, paceInterval, paceOpensAt } from '../../core/pace.ts';
import { spendReached } from '../../core/retry-budget.ts';
import type { StopReason } from '../../core/stop-reason.ts';
import type { AdmitReply, AdmitRequest } from '../gate.ts';
import { type Asking, facts, tooLate, unknownBatch } from './asking.ts';
import { CALL_AGAIN_MS, onTheirWay, quickSlots } from './call-jobs.ts';
import { hostBarrier, liveLeases } from './host-barrier.ts';
import { MICRO, hostTokens } from './job-facts.ts';
import { leaseId, readLeaseId } from './lease-id.ts';
import {
  type JobEntry,
  type MemoryState,
  batchTokensLeft,
  hostOf,
  laneScore,
  newJob,
} from './memory-state.ts';
import { giveUpReservation, leaveLane, waitApart, waitInLane } from './wait.ts';

/** `redis/scripts/admit.lua` is the twin: the same checks in the same order. */
export function admit(state: MemoryState, request: AdmitRequest, nowMs: number): AdmitReply {
  const known = state.jobs.get(request.job);
  if (known !== undefined) {
    if (known.end !== null) return { kind: 'stale', ended: known.end };
    // It joined another run meanwhile, and comes again with that.
    const isElsewhere = known.batch !== request.batch;
    if (isElsewhere || request.delivery < known.delivery) return { kind: 'stale', ended: null };
  }
  const job = known ?? adopt(state, request, nowMs);
  const host = hostOf(state, request.host);
  const batch = state.batches.get(request.batch) ?? unknownBatch(request, nowMs);
  // A hop goes on from an attempt that settled with `continue`; any other hop is a re-send like any attempt.
  // Whatever follows what never reached the host, or a result that could not be handed over, is paid for already.
  const goesOn = job.uncounted || (request.purpose === 'hop' && job.mayHop);
  const counted = request.purpose !== 'robots' && !goesOn;
  const asking: Asking = { state, request, nowMs, job, host, batch, counted };
  if (isRepeated(asking)) return admitted(asking);
  const refusal = refuseJob(asking);
  if (refusal !== null) return refusal;
  return refuseByHost(asking) ?? commit(asking);
}

function isRepeated({ job, request, nowMs }: Asking): boolean {
  const same = job.nonce === request.nonce && job.leaseHost === request.host;
  return same && job.lease !== '' && job.leaseUntilMs > nowMs;
}

/** A job whose ledger is unknown (entered by another tool, or expired) is adopted with its first answer. */
function adopt(state: MemoryState, request: AdmitRequest, nowMs: number): JobEntry {
  state.sequence += 1;
  const job = newJob({
    job: request.job,
    host: request.host,
    batch: request.batch,
    priority: 50,
    sequence: state.sequence,
    enteredAtMs: nowMs,
    deadlineMs: 0,
    notBeforeMs: 0,
  });
  state.jobs.set(request.job, job);
  const batch = state.batches.get(request.batch) ?? unknownBatch(request, nowMs);
  state.batches.set(request.batch, batch);
  batch.jobs += 1;
  return job;
}

function stop(asking: Asking, reason: StopReason): AdmitReply {
  return { kind: 'stop', reason, nowMs: asking.nowMs, facts: facts(asking) };
}

/** The batch, and the job's own limits. */
function refuseJob(asking: Asking): AdmitReply | null {
  const { batch, job, nowMs, request, counted } = asking;
  if (batch.cancelled) return stop(asking, 'cancelled');
  if (!batch.approved) return stop(asking, 'not_approved');
  if (spendReached(batch.defaults.spend, batch) !== null) return stop(asking, 'spend');
  if (job.notBeforeMs > nowMs) {
    return tooLate(asking, job.notBeforeMs)
      ? stop(asking, 'deadline')
      : waitApart(asking, 'not_before', job.notBeforeMs);
  }
  if (tooLate(asking, nowMs)) return stop(asking, 'deadline');
  if (counted && request.attemptsMax > 0 && job.attempts >= request.attemptsMax)
    return stop(asking, 'attempts');
  if (counted && isResend(job) && batchTokensLeft(batch) === 0) return stop(asking, 'retry_budget');
  return null;
}

/** Its first attempt in a batch is what the batch was made for, whatever it did in earlier runs. */
function isResend(job: JobEntry): boolean {
  return job.attempts > 0 && !job.isFresh;
}

/** Only a commit or a place in the lane may leave a trace on the host. */
function refuseByHost(asking: Asking): AdmitReply | null {
  const { host, request, nowMs } = asking;
  const { cap, intervalMs } = host;
  host.cap = request.rules.concurrency;
  host.intervalMs = paceInterval(host.pace, limitPace(request.rules, host.override), nowMs);
  const refusal = checkHost(asking);
  const traceless = refusal !== null && (refusal.kind !== 'wait' || refusal.place === null);
  if (traceless) Object.assign(host, { cap, intervalMs });
  return refusal;
}

function checkHost(asking: Asking): AdmitReply | null {
  const { host, job, nowMs, request } = asking;
  const { rules } = request;
  const barrier = hostBarrier(host, nowMs);
  if (barrier !== null) {
    const cooling = barrier.cause === 'cooldown';
    if (cooling && tooLate(asking, barrier.fallsAtMs ?? 0)) return stop(asking, 'deadline');
    return waitInLane(asking, barrier.cause, barrier.fallsAtMs, cooling);
  }
  const reserved = job.reservedUntilMs > nowMs && job.reservedHost === request.host;
  const ahead = host.lane.countBelow(laneScore(job));
  if (ahead > 0 && !reserved && host.called.score(job.job) === undefined) {
    return waitInLane(asking, 'turn', nowMs + CALL_AGAIN_MS, false);
  }
  if (!reserved && liveLeases(host, nowMs) >= host.cap) return waitForSlot(asking, ahead);
  const opensAtMs = paceOpensAt(host.pace, nowMs);
  if (opensAtMs > nowMs) {
    return waitInLane(asking, 'pace', opensAtMs + callsAhead(asking, ahead) * host.intervalMs, true);
  }
  const tokens = hostTokens(host, rules);
  if (hostPays(asking) && tokens !== null && tokens < MICRO) return stop(asking, 'retry_budget');
  return null;
}

/** The bucket is for sick hosts: after a throttle, cooldown and pace govern the re-send. */
function hostPays({ counted, job }: Asking): boolean {
  return counted && job.attempts > 0 && !job.wasThrottled;
}

/** Where requests are short, the next slot is about to free: those called ahead wait for it in place. */
function waitForSlot(asking: Asking, ahead: number): AdmitReply {
  const { host, nowMs } = asking;
  if (ahead >= quickSlots(host)) return waitInLane(asking, 'slots', nowMs + CALL_AGAIN_MS, false);
  const inMs = Math.max(10, Math.ceil((host.latencyMs * (ahead + 1)) / host.cap));
  return waitInLane(asking, 'slots', nowMs + inMs, true);
}

/** Each waiting request that is on its way gets an instant of its own, so that nobody polls. */
function callsAhead({ host, job, nowMs }: Asking, ahead: number): number {
  if (ahead === 0) return 0;
  const live = onTheirWay(host, nowMs).live - (host.called.score(job.job) === undefined ? 0 : 1);
  return Math.min(ahead, Math.max(0, live));
}

function commit(asking: Asking): AdmitReply {
  const { state, request, nowMs, job, host, batch, counted } = asking;
  const { rules } = request;
  const leaseMs = rules.attemptMs + rules.leaseMarginMs;
  const probe = host.circuit.state !== 'closed';
  const tokens = hostTokens(host, rules);
  const resend = counted && isResend(job);
  const pace = commitPace(host.pace, limitPace(rules, host.override), nowMs);
  const { epoch } = host;
  const { generation } = host.circuit;
  job.admissions += 1;
  const lease = leaseId(job.job, job.admissions, {
    epoch,
    generation,
    probe,
    bound: pace.bound,
    purpose: request.purpose,
  });
  host.known = true;
  host.pace = pace.state;
  if (probe) {
    host.circuit = { ...host.circuit, state: 'half_open', probe: lease, probeUntilMs: nowMs + leaseMs };
  }
  if (hostPays(asking) && tokens !== null) host.tokens = tokens - MICRO;
  giveUpReservation(state, job);
  host.leases.deleteUpTo(nowMs);
  host.leases.set(lease, nowMs + leaseMs);
  leaveLane(state, job, host);
  if (counted) {
    job.attempts += 1;
    batch.attempts += 1;
    job.isFresh = false;
    if (resend) {
      job.tokensSpent += 1;
      batch.tokensSpent += 1;
    }
  }
  if (job.awaitsRun) batch.away -= 1;
  Object.assign(job, {
    awaitsRun: false,
    delivery: request.delivery,
    mayHop: request.purpose === 'robots' && job.mayHop,
    uncounted: request.purpose === 'robots' && job.uncounted,
    nonce: request.nonce,
    tokensLeftThen: batchTokensLeft(batch),
    lease,
    leaseHost: request.host,
    leaseUntilMs: nowMs + leaseMs,
    admittedAtMs: nowMs,
    waiting: null,
  } satisfies Partial<JobEntry>);
  return admitted(asking);
}

function admitted(asking: Asking): AdmitReply {
  const { job, request } = asking;
  const { probe, generation, epoch } = readLeaseId(job.lease);
  return {
    kind: 'admitted',
    leaseId: job.lease as LeaseId,
    attempt: job.attempts,
    probe,
    generation,
    epoch,
    tokensLeft: job.tokensLeftThen,
    leaseMs: request.rules.attemptMs + request.rules.leaseMarginMs,
    admittedAtMs: job.admittedAtMs,
    facts: facts(asking),
  };
}
