interface Cooldown {
  readonly publishedAtMs: number;
  readonly endMs: number;
}

/** Cooldowns that ended longer ago than this are of no use: no request is admitted so long before it arrives. */
const KEPT_AFTER_END_MS = 60_000;
/** A flood of early requests to a host that extends its penalty publishes as many cooldowns. */
const KEPT_MOST = 20_000;
/** The dead front is cut off in pieces: one cut per publication would copy the whole list each time. */
const CUT_AT_LEAST = 1_000;

/**
 * The "stay away until" instants that a host has published. A cooldown inside an older one that ends no
 * earlier adds nothing, so what is kept grows in both instants and can be searched by halving.
 */
export class Cooldowns {
  readonly #kept: Cooldown[] = [];

  publish(publishedAtMs: number, endMs: number): void {
    if (endMs <= publishedAtMs) return;
    const newest = this.#kept.at(-1);
    if (newest !== undefined && newest.endMs >= endMs) return;
    this.#kept.push({ publishedAtMs, endMs });
    const useless = this.#firstEndingAfter(publishedAtMs - KEPT_AFTER_END_MS);
    const cut = Math.max(useless, this.#kept.length - KEPT_MOST);
    if (cut >= CUT_AT_LEAST) this.#kept.splice(0, cut);
  }

  /**
   * How long before `atMs` the oldest cooldown that covers it was published, ms; null: none covers it. A
   * cooldown covers from its publication up to, not including, its end.
   */
  ageAt(atMs: number): number | null {
    const first = this.#kept[this.#firstEndingAfter(atMs)];
    return first === undefined || first.publishedAtMs > atMs ? null : atMs - first.publishedAtMs;
  }

  #firstEndingAfter(atMs: number): number {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#kept[middle]?.endMs ?? 0) > atMs) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
