/** Crawl-delay asks for at most this much of our patience; beyond it the interval is cut, and said to be. */
const CRAWL_DELAY_MOST_MS = 600_000;

export interface CrawlDelayPace {
  /** Least time between two requests to the host; null: none. */
  readonly intervalMs: number | null;
  /** The file asked for more than `mostMs`. */
  readonly capped: boolean;
}

/** Joins a robots.txt Crawl-delay with the operator's own interval: the slower one holds, rounded up to whole ms. */
export function crawlDelayPace(
  crawlDelaySeconds: number | null,
  ownIntervalMs: number | null,
  mostMs: number = CRAWL_DELAY_MOST_MS,
): CrawlDelayPace {
  if (crawlDelaySeconds === null || crawlDelaySeconds <= 0)
    return { intervalMs: ownIntervalMs, capped: false };
  const askedMs = Math.ceil(crawlDelaySeconds * 1_000);
  return {
    intervalMs: Math.max(ownIntervalMs ?? 0, Math.min(askedMs, mostMs)),
    capped: askedMs > mostMs,
  };
}
