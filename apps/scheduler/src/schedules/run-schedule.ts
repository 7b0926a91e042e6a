import type { Redis } from 'ioredis';
import { type BatchId, batchDefaultsOf, type Gate } from '@holdoff/throttle-core';
import type { QueueNames } from '@holdoff/url-job';
import { runNameOf } from '@holdoff/url-job/schedule-file';
import type { EntryPolicies } from '../enter-through-gate.ts';
import type { Pause } from '../pause.ts';
import { readRunUrls } from './read-run-urls.ts';
import type { RunState } from './run-state.ts';
import type { RunData } from './schedule-queue.ts';

export interface RunParts {
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly gate: Pick<Gate, 'createBatch' | 'now'>;
  readonly policies: Pick<EntryPolicies, 'forBatch'>;
  readonly state: RunState;
  /** Ended when this process stops: what is half sent is left to another scheduler. */
  readonly pause: Pause;
}

export type RunOutcome =
  | { readonly kind: 'entered'; readonly batch: string; readonly urls: number }
  /** The run before is not over, and the schedule says that this one then is not made. */
  | { readonly kind: 'overlap'; readonly batch: string }
  | { readonly kind: 'later'; readonly waitMs: number };

const ENTRIES_PER_TRIP = 500;
const INBOX_MAX = 100_000;
const INBOX_LOOK_MS = 500;
const QUEUE_LOOK_MS = 5_000;
const CLAIM_AGAIN_MS = 500;

/**
 * Makes one run: its batch, then its URLs through the inbox. Everything in it may be done twice, by anybody: the
 * batch's name says which run it is, and a URL that is in it already changes nothing.
 */
export async function runSchedule(data: RunData, parts: RunParts): Promise<RunOutcome> {
  const { schedule, firingMs } = data;
  const { state } = parts;
  const batch = runNameOf(schedule.name, firingMs);
  const { raw, run } = await state.latest(schedule.name);
  if (run?.batch !== batch) {
    const blocked = run !== null && !(await state.isOver(run));
    if (blocked && schedule.overlap === 'skip') return { kind: 'overlap', batch };
    if (await state.isOtherQueued(schedule.name, batch)) return { kind: 'overlap', batch };
    if (blocked) {
      const isQueued = await state.queueUp(schedule.name, batch);
      return isQueued ? { kind: 'later', waitMs: QUEUE_LOOK_MS } : { kind: 'overlap', batch };
    }
    if (!(await state.begin(schedule.name, raw, batch))) return { kind: 'later', waitMs: CLAIM_AGAIN_MS };
  }
  const deadlineMs = await createRunBatch(data, batch, parts);
  const sent = await sendUrls(data, batch, deadlineMs, parts);
  if (sent === null) return { kind: 'later', waitMs: 0 };
  await state.sent(schedule.name, batch, sent.lastEntry);
  return { kind: 'entered', batch, urls: sent.urls };
}

/** Gives the run's deadline; a run that is made again keeps its first one. */
async function createRunBatch({ schedule }: RunData, batch: string, parts: RunParts): Promise<number> {
  const { policy, spend } = parts.policies.forBatch();
  const { retry_tokens: tokens = null, approve = null, deadline, owner } = schedule;
  const deadlineMs = deadline === undefined ? null : (await parts.gate.now()) + deadline;
  const defaults = batchDefaultsOf(policy, { tokens, approved: approve, owner, deadlineMs, spend });
  return (await parts.gate.createBatch({ batch: batch as BatchId, defaults })).batch.deadlineMs;
}

/** null: this process stops. */
async function sendUrls(
  data: RunData,
  batch: string,
  deadlineMs: number,
  parts: RunParts,
): Promise<{ readonly urls: number; readonly lastEntry: string } | null> {
  const same = ['batch', batch, ...(deadlineMs === 0 ? [] : ['deadline', String(deadlineMs)])];
  let trip: string[] = [];
  let sent = { urls: 0, lastEntry: '' };
  const send = async (): Promise<boolean> => {
    if (!(await hasRoom(parts))) return false;
    const pipeline = parts.redis.pipeline();
    for (const url of trip) pipeline.xadd(parts.names.inbox, '*', 'url', url, ...same);
    for (const [error, id] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      sent = { urls: sent.urls + 1, lastEntry: String(id) };
    }
    trip = [];
    return true;
  };
  for await (const url of readRunUrls(data)) {
    trip.push(url);
    if (trip.length === ENTRIES_PER_TRIP && !(await send())) return null;
  }
  return trip.length > 0 && !(await send()) ? null : sent;
}

/** Waits while the inbox is full. False: this process stops. */
async function hasRoom({ redis, names, pause }: RunParts): Promise<boolean> {
  while (!pause.ended && (await redis.xlen(names.inbox)) >= INBOX_MAX) await pause.for(INBOX_LOOK_MS);
  return !pause.ended;
}
