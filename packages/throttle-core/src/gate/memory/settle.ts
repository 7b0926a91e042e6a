import { isServing, settleCircuit } from '../../core/circuit.ts';
import type { JobId } from '../../core/identifiers.ts';
import { lessonOf } from '../../core/failing-host.ts';
import { settlePace } from '../../core/learn-pace.ts';
import { limitPace, paceInterval } from '../../core/pace.ts';
import type { SettleReply, SettleRequest } from '../gate.ts';
import { unknownBatch } from './asking.ts';
import { callHost } from './call-jobs.ts';
import { liveLeases } from './host-barrier.ts';
import { settleJob } from './job-effect.ts';
import { MICRO, hostTokens } from './job-facts.ts';
import { type LeaseParts, readLeaseId } from './lease-id.ts';
import { type HostEntry, type JobEntry, type KeptReplies, type MemoryState, hostOf } from './memory-state.ts';

const REPLY_KEPT_MS = 60_000;
const CALLS_MOST = 64;
const EVIDENCE_MOST = 300;

/** `redis/scripts/settle.lua` is the twin. */
export function settle(state: MemoryState, request: SettleRequest, nowMs: number): SettleReply {
  const job = state.jobs.get(request.job);
  const mine =
    job !== undefined && job.lease === request.leaseId && job.leaseHost === request.host && job.end === null;
  if (!mine) {
    const said = state.replies.get(request.nonce);
    if (said !== undefined) return said.reply;
  }
  const host = hostOf(state, request.host);
  const live = mine && job.leaseUntilMs > nowMs;
  if (mine) host.leases.delete(request.leaseId);
  if (host.known) settleHost(host, request, live ? job : null, nowMs);

  const due = mine ? settleLedger(state, job, host, request, nowMs) : null;
  const call: JobId[] = [];
  const lookAtMs = callHost(state, host, nowMs, { most: CALLS_MOST, again: false }, call);
  const reply: SettleReply = {
    kind: live ? 'settled' : 'late',
    call,
    lookAtMs,
    nowMs,
    job: due,
    host: {
      cooldownUntilMs: host.cooldownUntilMs,
      circuit: host.circuit.state,
      held: host.hold !== null,
      intervalMs: host.intervalMs,
    },
  };
  keepReply(state.replies, request.nonce, reply, nowMs);
  return reply;
}

export function keepReply<Reply>(
  replies: KeptReplies<Reply>,
  nonce: string,
  reply: Reply,
  nowMs: number,
): void {
  // Insertion order is age: the oldest go first.
  for (const [old, { untilMs }] of replies) {
    if (untilMs > nowMs) break;
    replies.delete(old);
  }
  replies.set(nonce, { reply, untilMs: nowMs + REPLY_KEPT_MS });
}

function settleLedger(
  state: MemoryState,
  job: JobEntry,
  host: HostEntry,
  request: SettleRequest,
  nowMs: number,
): SettleReply['job'] {
  const batch = state.batches.get(request.batch) ?? unknownBatch(request, nowMs);
  state.batches.set(request.batch, batch);
  batch.requests += request.spent.requests;
  batch.bytes += request.spent.bytes;
  batch.costMicros += request.spent.costMicros;
  job.requests += request.spent.requests;
  job.bytes += request.spent.bytes;
  if (request.outcome === 'throttled') batch.throttled += 1;
  if (request.delivery === job.delivery) return settleJob({ state, job, host, batch, request, nowMs });
  job.lease = '';
  return null;
}

/** `job` null: a late result, which may only close the host for longer. */
function settleHost(host: HostEntry, request: SettleRequest, job: JobEntry | null, nowMs: number): void {
  const cooldownUntilMs = Math.ceil(request.hostEffect.cooldownUntilMs);
  const longer = cooldownUntilMs > host.cooldownUntilMs;
  if (longer) extendCooldown(host, cooldownUntilMs);
  if (longer || (job !== null && request.hostEffect.hold !== null))
    Object.assign(host, { why: request.evidence.slice(0, EVIDENCE_MOST), whyAtMs: nowMs });
  if (job !== null) {
    learn(host, request, job, readLeaseId(request.leaseId), nowMs);
  } else if (longer) {
    const nextAtMs = Math.max(host.pace.nextAtMs, host.cooldownUntilMs);
    host.pace = { ...host.pace, nextAtMs, reopening: 1, scoutUntilMs: 0 };
  }
}

function extendCooldown(host: HostEntry, cooldownUntilMs: number): void {
  host.cooldownUntilMs = cooldownUntilMs;
  if (host.circuit.state !== 'open') return;
  host.circuit = { ...host.circuit, openUntilMs: Math.max(host.circuit.openUntilMs, cooldownUntilMs) };
}

function learn(
  host: HostEntry,
  request: SettleRequest,
  job: JobEntry,
  lease: LeaseParts,
  nowMs: number,
): void {
  const { outcome, rules, hostEffect } = request;
  const current = lease.epoch === host.epoch;
  const lesson = lessonOf(host.pace, { outcome, current, cooldownUntilMs: hostEffect.cooldownUntilMs });
  const event = lesson === 'throttled' && current;
  const { cooldownUntilMs } = host;
  const paceRules = limitPace(rules, host.override);
  host.pace = settlePace(
    host.pace,
    paceRules,
    {
      outcome: lesson,
      current,
      bound: lease.bound,
      cooldownUntilMs,
      latencyMs: request.latencyMs,
      rateLimit: hostEffect.rateLimit,
      inFlight: liveLeases(host, nowMs),
    },
    nowMs,
  );
  if (event) {
    host.epoch += 1;
    host.noHintEvents = hostEffect.noHint ? host.noHintEvents + 1 : 0;
  } else if (isServing(outcome) && current) {
    host.noHintEvents = 0;
  }
  const before = host.circuit;
  host.circuit = settleCircuit(
    before,
    rules.circuit,
    { outcome, leaseId: request.leaseId, generation: lease.generation, event, current, cooldownUntilMs },
    nowMs,
  );
  if (host.circuit.state === 'open' && host.circuit.generation !== before.generation) {
    // The probe is the scout: when it comes back well, the ramp begins.
    host.pace = { ...host.pace, reopening: 1, scoutUntilMs: 0 };
  }
  fillTokens(host, request, job, lease);
  const tookMs = nowMs - job.admittedAtMs;
  host.latencyMs = host.latencyMs > 0 ? host.latencyMs * 0.8 + tookMs * 0.2 : tookMs;
  host.intervalMs = paceInterval(host.pace, paceRules, nowMs);
  if (hostEffect.hold !== null && host.hold === null) {
    host.hold = { reason: hostEffect.hold.reason || 'policy', by: 'policy', sinceMs: nowMs };
  }
}

function fillTokens(
  host: HostEntry,
  { rules, outcome }: SettleRequest,
  job: JobEntry,
  lease: LeaseParts,
): void {
  const have = hostTokens(host, rules);
  if (rules.hostTokens === null || have === null) return;
  if (!isServing(outcome) || job.attempts !== 1 || lease.purpose !== 'attempt') return;
  const cap = Math.round(rules.hostTokens.cap * MICRO);
  host.tokens = Math.min(cap, have + Math.round(rules.hostTokens.perSuccess * MICRO));
}
