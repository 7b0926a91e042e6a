import type { AdmitReply, WaitCause } from '../gate.ts';
import { type Asking, facts, tooLate } from './asking.ts';
import { CALL_AGAIN_MS, LOOK_AHEAD_MS } from './call-jobs.ts';
import { fallbackAt } from './fallback.ts';
import {
  type HostEntry,
  type JobEntry,
  type MemoryState,
  addTrail,
  hostOf,
  laneScore,
} from './memory-state.ts';

const DAY_MS = 86_400_000;

/** Gives up the job's line in another host's lane (redirects), and in this one's. */
export function leaveLane(state: MemoryState, job: JobEntry, host: HostEntry): void {
  leaveOtherLane(state, job, host);
  if (job.lane === host.host) host.lane.delete(job.job);
  host.called.delete(job.job);
  job.lane = null;
}

export function leaveOtherLane(state: MemoryState, job: JobEntry, host: HostEntry): void {
  if (job.lane === null || job.lane === host.host) return;
  const other = hostOf(state, job.lane);
  other.lane.delete(job.job);
  other.called.delete(job.job);
}

export function giveUpReservation(state: MemoryState, job: JobEntry): void {
  if (job.reservedHost !== null) hostOf(state, job.reservedHost).leases.delete(job.job);
  job.reservedHost = null;
  job.reservedUntilMs = 0;
}

function record(asking: Asking, cause: WaitCause, untilMs: number, place: number | null): void {
  const { job, request, nowMs } = asking;
  job.delivery = request.delivery;
  job.waiting = { cause, untilMs };
  addTrail(job, nowMs, 'wait', `${cause} until ${untilMs}${place === null ? '' : `, place ${place}`}`);
}

/** Waits outside the lane: nobody behind the job is held up by it. */
export function waitApart(asking: Asking, cause: WaitCause, atMs: number): AdmitReply {
  const { state, job, host, nowMs, request } = asking;
  const untilMs = Math.ceil(atMs);
  const inline = untilMs - nowMs <= request.rules.inlineMaxMs;
  if (!inline) {
    leaveLane(state, job, host);
    giveUpReservation(state, job);
    record(asking, cause, untilMs, null);
  }
  return {
    kind: 'wait',
    cause,
    untilMs,
    inline,
    place: null,
    fallbackMs: untilMs,
    nowMs,
    facts: facts(asking),
  };
}

/** `atMs` null: until the owner acts. */
export function waitInLane(
  asking: Asking,
  cause: WaitCause,
  atMs: number | null,
  mayInline: boolean,
): AdmitReply {
  const { state, job, host, nowMs, request } = asking;
  host.known = true;
  leaveOtherLane(state, job, host);
  host.lane.set(job.job, laneScore(job));
  job.lane = host.host;
  const place = host.lane.rank(job.job);
  const fallbackMs = fallbackAt(host, place ?? 0, job.deadlineMs, nowMs);
  const untilMs = Math.ceil(atMs ?? fallbackMs);
  const inline = mayInline && untilMs - nowMs <= request.rules.inlineMaxMs && !tooLate(asking, untilMs);
  if (inline) {
    host.called.set(job.job, untilMs + CALL_AGAIN_MS);
  } else {
    host.called.delete(job.job);
    giveUpReservation(state, job);
    record(asking, cause, untilMs, place);
  }
  if (atMs !== null) {
    const lookMs = cause === 'pace' ? untilMs - LOOK_AHEAD_MS : untilMs;
    state.wheel.setLower(host.host, Math.max(nowMs, Math.min(lookMs, nowMs + DAY_MS)));
  }
  return { kind: 'wait', cause, untilMs, inline, place, fallbackMs, nowMs, facts: facts(asking) };
}
