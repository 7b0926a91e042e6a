/** What is known of one host before a batch is sent. Durations in ms. */
export interface HostWork {
  readonly host: string;
  /** URLs of the batch. */
  readonly urls: number;
  /** URLs that wait in the host's lane already, and go first. */
  readonly ahead: number;
  /** Least time between two dispatches. 0: nothing limits the pace. */
  readonly intervalMs: number;
  /** given: on the command line. fleet: what the fleet holds the host to now. start, configured: the policy's. */
  readonly source: 'given' | 'fleet' | 'start' | 'configured' | 'unlimited';
  /** The fleet still looks for the host's limit: the pace may grow. */
  readonly learning: boolean;
  /** Until the first dispatch: a cooldown, an open circuit, a not_before. */
  readonly closedForMs: number;
  readonly held: boolean;
  /** Until the deadline; null: there is none. */
  readonly deadlineInMs: number | null;
}

export interface HostForecast extends HostWork {
  /** Until the last dispatch; retries, deferrals and the server's speed come on top. null: held, nobody knows. */
  readonly needsMs: number | null;
  /** may_be_late: late at the present pace, which is still being learned. */
  readonly verdict: 'fits' | 'late' | 'may_be_late' | 'held';
}

/** Pure. The least time that a host's part of a batch takes: what waits ahead of it included. */
export function forecastHost(work: HostWork): HostForecast {
  if (work.held) return { ...work, needsMs: null, verdict: 'held' };
  const needsMs = Math.ceil(work.closedForMs + (work.ahead + work.urls) * work.intervalMs);
  if (work.deadlineInMs === null || needsMs <= work.deadlineInMs)
    return { ...work, needsMs, verdict: 'fits' };
  // A cooldown beyond the deadline is late at any pace.
  const mayLearn = work.learning && work.closedForMs <= work.deadlineInMs;
  return { ...work, needsMs, verdict: mayLearn ? 'may_be_late' : 'late' };
}

const ORDER = { held: 0, late: 1, may_be_late: 2, fits: 3 } as const;

/** The worst first. */
export function forecastBatch(works: readonly HostWork[]): readonly HostForecast[] {
  return works
    .map(forecastHost)
    .toSorted((a, b) => ORDER[a.verdict] - ORDER[b.verdict] || (b.needsMs ?? 0) - (a.needsMs ?? 0));
}
