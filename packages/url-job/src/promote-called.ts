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
 * Brings called jobs from delayed to waiting. A job can be called a moment before its worker has put it back (it
 * is still active), so an active one is tried again a few times; after that the gate's own re-call is the
 * repair. One that waits already needs nothing. Rejects only when Redis does.
 */
export async function promoteCalled(
  queue: Pick<UrlQueue, 'getBackend'>,
  ids: readonly string[],
  options: PromoteOptions = {},
): Promise<Promoted> {
  const backend = queue.getBackend();
  const triesMax = options.triesMax ?? TRIES_MAX;
  const missed: string[] = [];
  let left = ids;
  for (let tries = 1; left.length > 0; tries += 1) {
    const notDelayed = await promoteEach(backend, left);
    if (tries >= triesMax || options.signal?.aborted === true) {
      missed.push(...notDelayed);
      break;
    }
    const active = await Promise.all(notDelayed.map((id) => backend.isJobInState('active', id)));
    left = notDelayed.filter((_, index) => active[index] === true);
    // One that was put back between the two looks would be taken for one that waits: it gets its last try now.
    missed.push(
      ...(await promoteEach(
        backend,
        notDelayed.filter((_, index) => active[index] !== true),
      )),
    );
    if (left.length > 0) await sleep(options.gapMs ?? GAP_MS);
  }
  return { promoted: ids.length - missed.length, missed };
}

type Backend = ReturnType<UrlQueue['getBackend']>;

/** Those that were not delayed. */
async function promoteEach(backend: Pick<Backend, 'promote'>, ids: readonly string[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(ids.map((id) => backend.promote(id)));
  const missed: string[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue;
    if (!isNotDelayed(outcome.reason)) throw outcome.reason;
    missed.push(ids[index] ?? '');
  }
  return missed;
}

/** BullMQ's codes: -1 no such job, -3 not in the delayed set. Everything else is Redis' trouble. */
function isNotDelayed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === -1 || error.code === -3);
}
