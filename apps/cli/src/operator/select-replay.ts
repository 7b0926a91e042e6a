import type { Gate, JobId } from '@holdoff/throttle-core';
import type { StoppedEntry } from '@holdoff/url-job';

/** The same request would be refused again, or the owner ended it on purpose: these are replayed only by name. */
const NAMED_ONLY: ReadonlySet<string> = new Set(['blocked', 'robots', 'cancelled']);

export interface ReplaySelection {
  /** Oldest first, as they were stopped. */
  readonly entries: readonly StoppedEntry[];
  /** Left out because their reason must be named, by reason. */
  readonly named: Readonly<Record<string, number>>;
  /** Recorded as stopped, but the ledger says otherwise: done after all, or still alive. */
  readonly changed: number;
}

const LOOKS_PER_TRIP = 100;

/**
 * What a replay enters. The stream says what was stopped; the gate's ledger, while it is kept, has the last word: a
 * worker that died after recording leaves an entry of a job that another one may have brought to a good end.
 */
export async function selectReplay(
  stopped: AsyncIterable<StoppedEntry>,
  reason: string | null,
  gate: Pick<Gate, 'inspectJob'>,
): Promise<ReplaySelection> {
  const named = new Map<string, number>();
  const candidates: StoppedEntry[] = [];
  for await (const entry of stopped) {
    if (reason === null && NAMED_ONLY.has(entry.reason))
      named.set(entry.reason, (named.get(entry.reason) ?? 0) + 1);
    else candidates.push(entry);
  }
  candidates.reverse();
  const entries: StoppedEntry[] = [];
  for (let start = 0; start < candidates.length; start += LOOKS_PER_TRIP) {
    const page = candidates.slice(start, start + LOOKS_PER_TRIP);
    const known = await Promise.all(page.map(({ job }) => gate.inspectJob(job as JobId)));
    for (const [index, entry] of page.entries()) {
      const ledger = known[index];
      if (ledger === undefined || ledger.ended?.kind === 'stopped') entries.push(entry);
    }
  }
  return { entries, named: Object.fromEntries(named), changed: candidates.length - entries.length };
}
