import type { JobId } from '../../core/identifiers.ts';
import { hostBarrier, liveLeases, takesOneOnly } from './host-barrier.ts';
import type { HostEntry, MemoryState } from './memory-state.ts';

/**
 * Calling: which waiting jobs are told to come, so that a slot finds its next request ready.
 *
 * `called` holds job -> instant until which the call counts as on its way. A job that did not show up by then is
 * called again and kept under ABSENT + instant: it no longer counts, except beyond one cap of absentees, so that
 * lost jobs cannot block a host and stopped workers cannot drain a lane into the queue.
 */
export const CALL_AGAIN_MS = 5000;
export const LOOK_AHEAD_MS = 100;
/**
 * Least time between two looks at a paced host: well within the time that calls run ahead, so that a fast host costs
 * one look for several requests.
 */
const LOOK_GAP_MS = 25;
const ABSENT = 4_503_599_627_370_496;
const QUICK_MS = 250;

/** Slots whose next request may be called before they are free, where a job can wait for its slot in the worker. */
export function quickSlots(host: HostEntry): number {
  if (host.latencyMs <= 0 || host.latencyMs > QUICK_MS) return 0;
  return Math.max(1, Math.floor(host.cap / 4));
}

interface OnTheirWay {
  readonly live: number;
  readonly recorded: number;
  readonly occupied: number;
}

export function onTheirWay(host: HostEntry, nowMs: number): OnTheirWay {
  const live = host.called.countBelow(ABSENT) - host.called.countUpTo(nowMs);
  const stale = host.called.size - live;
  return { live, recorded: live + stale, occupied: live + Math.max(0, stale - host.cap) };
}

interface Room {
  readonly room: number;
  readonly recorded: number;
  /** null: until the owner acts. */
  readonly lookAtMs: number | null;
  /** Nobody may be called before. */
  readonly shut: boolean;
}

function callRoom(host: HostEntry, nowMs: number): Room {
  const barrier = hostBarrier(host, nowMs);
  if (barrier !== null) return { room: 0, recorded: 0, lookAtMs: barrier.fallsAtMs, shut: true };
  const { live, recorded, occupied } = onTheirWay(host, nowMs);
  const slots = host.cap - liveLeases(host, nowMs) - occupied + quickSlots(host);
  const free = takesOneOnly(host) ? Math.min(slots, 1 - live) : slots;
  const lookAtMs = nowMs + CALL_AGAIN_MS;
  if (host.intervalMs <= 0) return { room: Math.max(0, free), recorded, lookAtMs, shut: false };
  const firstMs = Math.max(host.pace.nextAtMs, nowMs);
  const aheadMs = nowMs + LOOK_AHEAD_MS - firstMs;
  const instants = aheadMs >= 0 ? Math.floor(aheadMs / host.intervalMs) + 1 : 0;
  const nextLookMs = Math.max(
    nowMs + LOOK_GAP_MS,
    Math.ceil(firstMs + instants * host.intervalMs - LOOK_AHEAD_MS),
  );
  return {
    room: Math.max(0, Math.min(free, instants - live)),
    recorded,
    lookAtMs: free > instants - live ? Math.min(lookAtMs, nextLookMs) : lookAtMs,
    shut: false,
  };
}

function callAgain(host: HostEntry, nowMs: number, most: number, list: JobId[]): void {
  for (const base of [0, ABSENT]) {
    for (const job of host.called.between(base, base + nowMs, most - list.length)) {
      host.called.set(job, ABSENT + nowMs + CALL_AGAIN_MS);
      list.push(job as JobId);
    }
    if (list.length >= most) return;
  }
}

function callFirst(host: HostEntry, { recorded }: Room, room: number, nowMs: number, list: JobId[]): void {
  const picked = host.lane
    .first(room + recorded)
    .filter((job) => host.called.score(job) === undefined)
    .slice(0, room);
  for (const job of picked) {
    host.called.set(job, nowMs + CALL_AGAIN_MS);
    list.push(job as JobId);
  }
}

/**
 * Calls what can be called of one host, keeps its place on the wheel, and returns when to look again. `again`: this is
 * the look that the wheel asked for, which also calls those that did not come. What a single request settles never puts
 * that look off: on a busy host it would never come, and a lost job would wait for its fallback.
 */
export function callHost(
  state: MemoryState,
  host: HostEntry,
  nowMs: number,
  options: { readonly most: number; readonly again: boolean },
  list: JobId[],
): number | null {
  if (host.lane.size === 0) {
    if (options.again) state.wheel.delete(host.host);
    return null;
  }
  const room = callRoom(host, nowMs);
  const before = list.length;
  if (options.again && !room.shut) callAgain(host, nowMs, options.most, list);
  // Where one only may go, whoever is called again is the one.
  const taken = list.length > before && takesOneOnly(host);
  const allowed = taken ? 0 : Math.min(room.room, options.most - list.length);
  if (allowed > 0) callFirst(host, room, allowed, nowMs, list);
  if (room.lookAtMs === null) {
    state.wheel.delete(host.host);
    return null;
  }
  const lookAtMs = list.length >= options.most ? nowMs + 1 : room.lookAtMs;
  if (options.again || room.shut) state.wheel.set(host.host, lookAtMs);
  else state.wheel.setLower(host.host, lookAtMs);
  return lookAtMs;
}
