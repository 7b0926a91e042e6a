/** What happened when, in at most `BUCKETS` slices of equal length, however long the run becomes. */
export interface Timeline {
  readonly sliceMs: number;
  readonly served: readonly number[];
  readonly throttled: readonly number[];
  readonly failed: readonly number[];
}

export type Happening = 'served' | 'throttled' | 'failed';

const BUCKETS = 240;
const FIRST_SLICE_MS = 250;

/** Slices double in length when the run outgrows them, so memory stays the same. */
export class TimelineRecorder {
  #sliceMs = FIRST_SLICE_MS;
  readonly #counts = {
    served: new Float64Array(BUCKETS),
    throttled: new Float64Array(BUCKETS),
    failed: new Float64Array(BUCKETS),
  };
  #last = 0;

  record(what: Happening, atMs: number): void {
    while (atMs >= this.#sliceMs * BUCKETS) this.#double();
    const slice = Math.floor(atMs / this.#sliceMs);
    const counts = this.#counts[what];
    counts[slice] = (counts[slice] ?? 0) + 1;
    if (slice > this.#last) this.#last = slice;
  }

  read(): Timeline {
    const upTo = (counts: Float64Array): number[] => [...counts.subarray(0, this.#last + 1)];
    const { served, throttled, failed } = this.#counts;
    return {
      sliceMs: this.#sliceMs,
      served: upTo(served),
      throttled: upTo(throttled),
      failed: upTo(failed),
    };
  }

  #double(): void {
    for (const counts of Object.values(this.#counts)) {
      for (let slice = 0; slice < BUCKETS; slice += 1) {
        const pair = slice * 2 < BUCKETS ? (counts[slice * 2] ?? 0) + (counts[slice * 2 + 1] ?? 0) : 0;
        counts[slice] = pair;
      }
    }
    this.#sliceMs *= 2;
    this.#last = Math.floor(this.#last / 2);
  }
}
