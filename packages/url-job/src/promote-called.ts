import { setTimeout as sleep } from 'node:timers/promises';
import type { UrlQueue } from './url-queue.ts';

export interface PromoteOptions {
  /** Tries of one job, the first included. */
  readonly triesMax?: number;
  readonly gapMs?: number;
  readonly signal?: AbortSignal;
}

export interface Promoted {
  readonly promoted: number;
  /** Not delayed even at the last try: running, waiting already, or gone. The gate calls them again if need be. */
  readonly missed: readonly string[];
}

const TRIES_MAX = 5;
const GAP_MS = 30;

/**
 * Brings called jobs from delayed to waiting. A job can be called a moment before its worker has put it back
 * (it is still active), so a miss is tried again a few times; after that the gate's own re-call is the repair.
 * Rejects only when Redis does.
 */
export async function promoteCalled(
  queue: Pick<UrlQueue, 'getBackend'>,
  ids: readonly string[],
  options: PromoteOptions = {},
): Promise<Promoted> {
  const backend = queue.getBackend();
  const triesMax = options.triesMax ?? TRIES_MAX;
  let left = [...ids];
  for (let tries = 1; left.length > 0; tries += 1) {
    const outcomes = await Promise.allSettled(left.map((id) => backend.promote(id)));
    const missed: string[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      if (!isNotDelayed(outcome.reason)) throw outcome.reason;
      missed.push(left[index] ?? '');
    }
    left = missed;
    if (left.length === 0 || tries >= triesMax || options.signal?.aborted === true) break;
    await sleep(options.gapMs ?? GAP_MS);
  }
  return { promoted: ids.length - left.length, missed: left };
}

/** BullMQ's codes: -1 no such job, -3 not in the delayed set. Everything else is Redis' trouble. */
function isNotDelayed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === -1 || error.code === -3);
}
