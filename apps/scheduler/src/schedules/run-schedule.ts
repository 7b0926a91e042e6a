import type { Redis } from 'ioredis';
import { type BatchId, type BatchSnapshot, batchDefaultsOf, type Gate } from '@holdoff/throttle-core';
import { canonicalUrl, type QueueNames } from '@holdoff/url-job';
import { runNameOf } from '@holdoff/url-job/schedule-file';
import type { EntryPolicies } from '../enter-through-gate.ts';
import type { Pause } from '../pause.ts';
import { readRunUrls, type RunUrl } from './read-run-urls.ts';
import type { RunState } from './run-state.ts';
import type { RunData } from './schedule-queue.ts';
import { requestKey, takeAlong, type TakeAlongParts } from './take-along.ts';

export interface RunParts {
  readonly redis: Redis;
  readonly names: QueueNames;
  readonly urlQueue: TakeAlongParts['urlQueue'];
  readonly gate: Pick<Gate, 'createBatch' | 'now'> & TakeAlongParts['gate'];
  readonly policies: Pick<EntryPolicies, 'forBatch'>;
  readonly state: RunState;
  /** Ended when this process stops: what is half sent is left to another scheduler. */
  readonly pause: Pause;
}

export type RunOutcome =
  | { readonly kind: 'entered'; readonly batch: string; readonly urls: number; readonly joined: number }
  /** The run before is not over, and the schedule says that this one then is not made. */
  | { readonly kind: 'overlap'; readonly batch: string }
  | { readonly kind: 'later'; readonly waitMs: number };

const ENTRIES_PER_TRIP = 500;
const INBOX_MAX = 100_000;
const INBOX_LOOK_MS = 500;
const QUEUE_LOOK_MS = 5_000;
const CLAIM_AGAIN_MS = 500;
const APPROVAL_LOOK_MS = 5_000;

/**
 * Makes one run: its batch, then its URLs through the inbox. Everything in it may be done twice, by anybody: the
 * batch's name says which run it is, and a URL that is in it already changes nothing.
 */
export async function runSchedule(data: RunData, parts: RunParts): Promise<RunOutcome> {
  const { schedule, firingMs } = data;
  const { state } = parts;
  const batch = runNameOf(schedule.name, firingMs);
  const { raw, run } = await state.latest(schedule.name);
  const from = run?.batch === batch ? run.from : run?.batch;
  if (run?.batch !== batch) {
    const blocked = run !== null && !(await state.isOver(run));
    if (blocked && schedule.overlap === 'skip') return { kind: 'overlap', batch };
    if (await state.isOtherQueued(schedule.name, batch)) return { kind: 'overlap', batch };
    if (blocked) {
      const isQueued = await state.queueUp(schedule.name, batch);
      return isQueued ? { kind: 'later', waitMs: QUEUE_LOOK_MS } : { kind: 'overlap', batch };
    }
    if (!(await state.begin(schedule.name, raw, batch, from)))
      return { kind: 'later', waitMs: CLAIM_AGAIN_MS };
  }
  const created = await createRunBatch(data, batch, parts);
  const { deadlineMs } = created;
  if (created.cancelled) {
    await state.sent(schedule.name, batch, '');
    return { kind: 'entered', batch, urls: 0, joined: 0 };
  }
  // URLs that come to their turn before the approval would stop.
  if (!created.approved && !(await hasPassed(deadlineMs, parts)))
    return { kind: 'later', waitMs: APPROVAL_LOOK_MS };
  const taken =
    from === undefined ? new Set<string>() : await takeAlong(from as BatchId, batch as BatchId, parts);
  const sent = await sendUrls(data, { batch, deadlineMs, taken }, parts);
  if (sent === null) return { kind: 'later', waitMs: 0 };
  await state.sent(schedule.name, batch, sent.lastEntry);
  return { kind: 'entered', batch, urls: sent.urls, joined: taken.size };
}

async function hasPassed(deadlineMs: number, { gate }: RunParts): Promise<boolean> {
  return deadlineMs > 0 && deadlineMs <= (await gate.now());
}

/** A run that is made again keeps its first deadline. */
async function createRunBatch({ schedule }: RunData, batch: string, parts: RunParts): Promise<BatchSnapshot> {
  const { policy, spend } = parts.policies.forBatch();
  const { retry_tokens: tokens = null, approve = null, deadline, owner } = schedule;
  const deadlineMs = deadline === undefined ? null : (await parts.gate.now()) + deadline;
  const defaults = batchDefaultsOf(policy, { tokens, approved: approve, owner, deadlineMs, spend });
  return (await parts.gate.createBatch({ batch: batch as BatchId, defaults })).batch;
}

/** null: this process stops. */
async function sendUrls(
  data: RunData,
  run: { readonly batch: string; readonly deadlineMs: number; readonly taken: ReadonlySet<string> },
  parts: RunParts,
): Promise<{ readonly urls: number; readonly lastEntry: string } | null> {
  const { batch, deadlineMs, taken } = run;
  const same = ['batch', batch, ...(deadlineMs === 0 ? [] : ['deadline', String(deadlineMs)])];
  let trip: RunUrl[] = [];
  let sent = { urls: 0, lastEntry: '' };
  const send = async (): Promise<boolean> => {
    if (!(await hasRoom(parts))) return false;
    const pipeline = parts.redis.pipeline();
    for (const { url, reads } of trip) {
      const kind = reads === undefined ? [] : ['reads', reads];
      pipeline.xadd(parts.names.inbox, '*', 'url', url, ...same, ...kind);
    }
    for (const [error, id] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      sent = { urls: sent.urls + 1, lastEntry: String(id) };
    }
    trip = [];
    return true;
  };
  for await (const url of readRunUrls(data)) {
    if (isTaken(url.url, taken)) continue;
    trip.push(url);
    if (trip.length === ENTRIES_PER_TRIP && !(await send())) return null;
  }
  return trip.length > 0 && !(await send()) ? null : sent;
}

function isTaken(text: string, taken: ReadonlySet<string>): boolean {
  if (taken.size === 0) return false;
  const url = canonicalUrl(text);
  return url.kind === 'ok' && taken.has(requestKey({ method: 'GET', url: url.value.url }));
}

/** Waits while the inbox is full. False: this process stops. */
async function hasRoom({ redis, names, pause }: RunParts): Promise<boolean> {
  while (!pause.ended && (await redis.xlen(names.inbox)) >= INBOX_MAX) await pause.for(INBOX_LOOK_MS);
  return !pause.ended;
}
