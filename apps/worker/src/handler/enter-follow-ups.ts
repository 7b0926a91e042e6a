import type { Redis } from 'ioredis';
import { canonicalUrl, type Listing, type UrlJob, urlJobId } from '@holdoff/url-job';
import { DeliveryFault } from '../deliver-result.ts';

export interface FollowUpPlaces {
  /** A connection that fails at once while Redis is away. */
  readonly redis: Redis;
  readonly inbox: string;
  /** Set of the jobs that a batch was grown by. */
  readonly followedKey: (batch: string) => string;
  /** Jobs that a batch may be grown by. */
  readonly perBatchMax: number;
}

export interface FollowUps {
  /** URLs of the batch now, whether this page named them first or another one did. */
  readonly taken: number;
  /** No URL that can be fetched, or beyond what a batch may grow by. */
  readonly refused: number;
}

/** As long as the ledger remembers a job, so that a page that links to it again does not enter it again. */
const REMEMBERED_MS = 7 * 24 * 60 * 60 * 1_000;

/**
 * Puts the URLs that a handler named into the inbox, under the batch of the page they come from. It runs before the
 * page's own job ends, so that a crash repeats it; entering a URL twice is one job, since ids follow from the URL.
 *
 * @throws DeliveryFault when Redis does not take them
 */
export async function enterFollowUps(
  places: FollowUpPlaces,
  job: UrlJob,
  finalUrl: string,
  links: readonly string[],
  reads?: Listing,
): Promise<FollowUps> {
  const jobs = new Map<string, string>();
  let refused = 0;
  for (const link of links) {
    const url = canonicalUrl(URL.parse(link, finalUrl)?.href ?? link);
    if (url.kind === 'invalid') refused += 1;
    else jobs.set(urlJobId({ url: url.value.url, batch: job.batch, method: 'GET' }), url.value.url);
  }
  let taken = 0;
  const ids = [...jobs.keys()];
  for (let start = 0; start < ids.length; start += LINKS_PER_TRIP) {
    const page = ids.slice(start, start + LINKS_PER_TRIP);
    const done = await enterPage(places, page, (id) => entryOf(job, jobs.get(id) ?? '', reads), job.batch);
    taken += done.taken;
    refused += done.refused;
  }
  return { taken, refused };
}

/** A sitemap names 50,000. */
const LINKS_PER_TRIP = 1_000;

async function enterPage(
  { redis, inbox, followedKey, perBatchMax }: FollowUpPlaces,
  ids: readonly string[],
  entryFor: (id: string) => readonly string[],
  batch: string,
): Promise<FollowUps> {
  const key = followedKey(batch);
  try {
    const [grownBy, known] = await Promise.all([redis.scard(key), redis.smismember(key, ...ids)]);
    const fresh = ids.filter((_, index) => known[index] !== 1);
    const entered = fresh.slice(0, Math.max(0, perBatchMax - grownBy));
    if (entered.length > 0) {
      await Promise.all(entered.map((id) => redis.xadd(inbox, '*', ...entryFor(id))));
      // Only now: a crash in between must not make them look entered.
      await redis.sadd(key, ...entered);
      await redis.pexpire(key, REMEMBERED_MS);
    }
    return {
      taken: ids.length - fresh.length + entered.length,
      refused: fresh.length - entered.length,
    };
  } catch (error) {
    throw new DeliveryFault(`the inbox ${inbox}`, error);
  }
}

function entryOf(job: UrlJob, url: string, reads: Listing | undefined): string[] {
  const fields = ['url', url, 'batch', job.batch, 'priority', String(job.priority)];
  if (job.deadlineMs !== null) fields.push('deadline', String(job.deadlineMs));
  if (reads !== undefined) fields.push('reads', reads);
  // A header set may hold credentials: they are for the origin that the job was entered for, as with redirects.
  const isSameOrigin = URL.parse(url)?.origin === URL.parse(job.url)?.origin;
  if (job.headersRef !== null && isSameOrigin) fields.push('headers', job.headersRef);
  return fields;
}
