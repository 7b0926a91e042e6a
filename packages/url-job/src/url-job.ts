/**
 * The contract between whoever enqueues and whoever fetches: what a URL job carries through the queue.
 * The queue's own options are not part of it; what a producer sets there is ignored.
 */
export interface UrlJob {
  /** Version of this shape. */
  readonly v: 1;
  /** Canonical absolute http(s) URL, at most 8 KiB. */
  readonly url: string;
  /** Grammar `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`. */
  readonly batch: string;
  /** The batch that it was entered in and has its id from, when it has joined a later run; absent: `batch`. */
  readonly bornIn?: string | undefined;
  readonly method: 'GET' | 'HEAD';
  /** 0 (first) to 100 (last). */
  readonly priority: number;
  /** Absolute, ms since the epoch; null: at once. */
  readonly notBeforeMs: number | null;
  /** Absolute, ms since the epoch; null: the policy's. */
  readonly deadlineMs: number | null;
  /** Name of a header set kept by the workers; never the headers themselves. */
  readonly headersRef: string | null;
  /** A list of further URLs, not a page: they join the batch. sitemap_part: one that an index names. absent: a page. */
  readonly reads?: Listing | undefined;
  /** When the job was entered, ms since the epoch on the producer's clock; for information only. */
  readonly enteredAtMs: number;
  /** The redirect target at which the job goes on; null: at its own URL. */
  readonly hop: RedirectHop | null;
}

export const LISTINGS = ['sitemap', 'sitemap_part'] as const;
export type Listing = (typeof LISTINGS)[number];

export interface RedirectHop {
  readonly url: string;
  /** Redirects followed to get here. */
  readonly count: number;
  /** Fingerprints of the URLs asked so far, for finding loops. */
  readonly visited: readonly string[];
  /** A request was sent here already: the next one is another attempt. */
  readonly asked: boolean;
}
