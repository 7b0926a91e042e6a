import { settleCircuit } from '../../core/circuit.ts';
import type { JobId } from '../../core/identifiers.ts';
import { PROXY_CALLS_MOST, PROXY_CIRCUIT, PROXY_FAILURE_POINTS } from '../../core/proxy-circuit.ts';
import type { AskProxyReply, AskProxyRequest, SettleProxyReply, SettleProxyRequest } from '../proxy-gate.ts';
import { CALL_AGAIN_MS, callHost } from './call-jobs.ts';
import { fallbackAt } from './fallback.ts';
import { type Barrier, hostBarrier } from './host-barrier.ts';
import {
  type HostEntry,
  type JobEntry,
  type MemoryState,
  addTrail,
  hostOf,
  laneScore,
} from './memory-state.ts';
import { keepReply } from './settle.ts';
import { giveUpReservation, leaveOtherLane } from './wait.ts';

const CALLS_MOST = 64;
const DAY_MS = 86_400_000;

/** `redis/scripts/ask-proxy.lua` is the twin. */
export function askProxy(state: MemoryState, request: AskProxyRequest, nowMs: number): AskProxyReply {
  const job = state.jobs.get(request.job);
  if (job !== undefined) {
    if (job.end !== null) return { kind: 'stale', ended: job.end };
    if (request.delivery < job.delivery) return { kind: 'stale', ended: null };
  }
  const proxy = hostOf(state, request.proxy);
  if (!proxy.known) return { kind: 'go', probe: '', generation: 0, points: 0, nowMs, call: [] };
  const probe = `${request.job}.${request.nonce}`;
  const { circuit } = proxy;
  const mine = circuit.probe === probe && circuit.probeUntilMs > nowMs;
  const barrier = mine ? null : hostBarrier(proxy, nowMs);
  if (barrier !== null) return refuse(state, request, proxy, job, barrier, nowMs);
  return pass(state, request, proxy, job, probe, nowMs);
}

function refuse(
  state: MemoryState,
  request: AskProxyRequest,
  proxy: HostEntry,
  job: JobEntry | undefined,
  { cause, fallsAtMs }: Barrier,
  nowMs: number,
): AskProxyReply {
  const deadlineMs = job?.deadlineMs ?? 0;
  const tooLate = (atMs: number): boolean => deadlineMs > 0 && atMs + request.neededMs >= deadlineMs;
  if (tooLate(nowMs) || (cause === 'cooldown' && tooLate(fallsAtMs ?? 0)))
    return { kind: 'stop', reason: 'deadline', nowMs };
  if (job === undefined) {
    const untilMs = Math.ceil(fallsAtMs ?? nowMs + CALL_AGAIN_MS);
    return { kind: 'wait', cause, untilMs, place: null, fallbackMs: untilMs, nowMs };
  }
  leaveOtherLane(state, job, proxy);
  giveUpReservation(state, job);
  proxy.called.delete(job.job);
  proxy.lane.set(job.job, laneScore(job));
  const place = proxy.lane.rank(job.job);
  const fallbackMs = fallbackAt(proxy, place ?? 0, job.deadlineMs, nowMs);
  const untilMs = Math.ceil(fallsAtMs ?? fallbackMs);
  Object.assign(job, { delivery: request.delivery, waiting: { cause, untilMs }, lane: proxy.host });
  const why = proxy.why === null ? '' : `; ${proxy.why}`;
  addTrail(job, nowMs, 'wait', `${proxy.host} ${cause} until ${untilMs}${why}`);
  if (fallsAtMs !== null)
    state.wheel.setLower(proxy.host, Math.max(nowMs, Math.min(untilMs, nowMs + DAY_MS)));
  return { kind: 'wait', cause, untilMs, place, fallbackMs, nowMs };
}

function pass(
  state: MemoryState,
  request: AskProxyRequest,
  proxy: HostEntry,
  job: JobEntry | undefined,
  probe: string,
  nowMs: number,
): AskProxyReply {
  if (job?.lane === proxy.host) {
    proxy.lane.delete(job.job);
    proxy.called.delete(job.job);
    job.lane = null;
  }
  const trial = proxy.circuit.state !== 'closed';
  if (trial) {
    const probeUntilMs = Math.max(proxy.circuit.probeUntilMs, nowMs + request.probeMs);
    proxy.circuit = { ...proxy.circuit, state: 'half_open', probe, probeUntilMs };
  }
  const call: JobId[] = [];
  callHost(state, proxy, nowMs, { most: CALLS_MOST, again: false }, call);
  const { generation, responses: points } = proxy.circuit;
  return { kind: 'go', probe: trial ? probe : '', generation, points, nowMs, call };
}

/** `redis/scripts/settle-proxy.lua` is the twin. */
export function settleProxy(
  state: MemoryState,
  request: SettleProxyRequest,
  nowMs: number,
): SettleProxyReply {
  const proxy = hostOf(state, request.proxy);
  const { result } = request;
  if (!proxy.known && result.kind !== 'failed') return { lookAtMs: null, nowMs, call: [] };
  const said = state.proxyReplies.get(request.nonce);
  if (said !== undefined) return said.reply;
  const before = JSON.stringify(stateOf(proxy));
  proxy.known = true;
  proxy.cap = PROXY_CALLS_MOST;
  const cooldownUntilMs = Math.ceil(result.kind === 'failed' ? result.cooldownUntilMs : 0);
  if (cooldownUntilMs > proxy.cooldownUntilMs) {
    proxy.cooldownUntilMs = cooldownUntilMs;
    const openUntilMs = Math.max(proxy.circuit.openUntilMs, cooldownUntilMs);
    if (proxy.circuit.state === 'open') proxy.circuit = { ...proxy.circuit, openUntilMs };
  }
  count(proxy, request, nowMs);
  // A proxy has no pace of its own: its ramp is that each job that passes calls the next.
  proxy.pace = { ...proxy.pace, reopening: 0 };
  const call: JobId[] = [];
  const lookAtMs = callHost(state, proxy, nowMs, { most: CALLS_MOST, again: false }, call);
  const reply: SettleProxyReply = { lookAtMs, nowMs, call };
  if (JSON.stringify(stateOf(proxy)) !== before) keepReply(state.proxyReplies, request.nonce, reply, nowMs);
  return reply;
}

function stateOf({ known, cap, cooldownUntilMs, circuit, why, whyAtMs, pace }: HostEntry): unknown {
  return { known, cap, cooldownUntilMs, circuit, why, whyAtMs, reopening: pace.reopening };
}

function count(proxy: HostEntry, { generation, probe, result }: SettleProxyRequest, nowMs: number): void {
  const outcome = ({ through: 'served', failed: 'throttled', unused: 'neutral' } as const)[result.kind];
  if (result.kind === 'failed') {
    proxy.why = result.why.slice(0, WHY_MOST);
    proxy.whyAtMs = nowMs;
    const { circuit } = proxy;
    // The circuit counts one itself.
    const more = PROXY_FAILURE_POINTS[result.failure] - 1;
    if (circuit.state === 'closed' && circuit.generation === generation)
      proxy.circuit = { ...circuit, responses: circuit.responses + more };
  }
  const facts = { event: false, current: true, cooldownUntilMs: proxy.cooldownUntilMs };
  proxy.circuit = settleCircuit(
    proxy.circuit,
    PROXY_CIRCUIT,
    { outcome, leaseId: probe, generation, ...facts },
    nowMs,
  );
}

const WHY_MOST = 200;
