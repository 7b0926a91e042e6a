import type { HostKey, JobId } from '../../core/identifiers.ts';
import type { WakeReply, WakeRequest } from '../gate.ts';
import { CALL_AGAIN_MS, callHost } from './call-jobs.ts';
import { type MemoryState, hostOf } from './memory-state.ts';

/** `redis/scripts/wake.lua` is the twin. */
export function wake(state: MemoryState, { hostsMax, jobsMax }: WakeRequest, nowMs: number): WakeReply {
  const call: JobId[] = [];
  for (const name of state.wheel.between(Number.NEGATIVE_INFINITY, nowMs, hostsMax)) {
    if (call.length >= jobsMax) break;
    const host = hostOf(state, name as HostKey);
    host.leases.deleteUpTo(nowMs);
    callHost(state, host, nowMs, { most: jobsMax, again: true }, call);
  }
  const expired = takeExpired(state, jobsMax, nowMs);
  const next = [state.wheel.firstScore(), state.deadlines.firstScore()].filter((at) => at !== null);
  return { call, expired, nextAtMs: next.length === 0 ? null : Math.ceil(Math.min(...next)), nowMs };
}

function takeExpired(state: MemoryState, most: number, nowMs: number): JobId[] {
  const expired: JobId[] = [];
  for (const name of state.deadlines.between(Number.NEGATIVE_INFINITY, nowMs, most)) {
    const job = state.jobs.get(name as JobId);
    if (job === undefined || job.end !== null) {
      state.deadlines.delete(name);
    } else if (job.lease !== '' && job.leaseUntilMs > nowMs) {
      state.deadlines.set(name, job.leaseUntilMs);
    } else {
      state.deadlines.set(name, nowMs + CALL_AGAIN_MS);
      expired.push(job.job);
    }
  }
  return expired;
}
