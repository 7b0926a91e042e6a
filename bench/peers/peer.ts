/** What a peer gets: a tally to report to, and a signal that ends it. */
export interface PeerRun {
  readonly urls: readonly string[];
  readonly slots: number;
  readonly signal: AbortSignal;
  readonly redisUrl: string;
  readonly tally: Tally;
  /** Starts the clocks: called once, when everything is prepared and before the first request. */
  readonly begin: () => void;
}

export type Peer = (run: PeerRun) => Promise<void>;

/** Counts how URLs ended and says when all have. */
export class Tally {
  readonly #total: number;
  readonly #all = Promise.withResolvers<void>();
  served = 0;
  lost = 0;

  constructor(total: number) {
    this.#total = total;
    if (total === 0) this.#all.resolve();
  }

  end(how: 'served' | 'lost'): void {
    this[how] += 1;
    if (this.served + this.lost === this.#total) this.#all.resolve();
  }

  get unfinished(): number {
    return this.#total - this.served - this.lost;
  }

  /** Resolves when every URL has ended. */
  all(): Promise<void> {
    return this.#all.promise;
  }
}

/** `slots` loops over one list: each takes the next URL when it is through with its last. */
export async function inSlots(run: PeerRun, work: (url: string) => Promise<void>): Promise<void> {
  let next = 0;
  run.begin();
  const slot = async (): Promise<void> => {
    while (next < run.urls.length && !run.signal.aborted) {
      const url = run.urls[next];
      next += 1;
      if (url !== undefined) await work(url);
    }
  };
  await Promise.all(Array.from({ length: run.slots }, slot));
}

/** Whole seconds of a Retry-After, in ms; the fallback when there is none. The baselines read no more than that. */
export function retryAfterMs(header: string | undefined, fallbackMs: number): number {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : fallbackMs;
}
