import { createHash } from 'node:crypto';
import { queueNames } from '@holdoff/url-job';

/**
 * The keys in Redis that only workers write, in the deployment's hash tag: strings and sets with a TTL, and the results.
 *
 * | key | content | TTL |
 * |---|---|---|
 * | `{d}:robots:<token>:<origin>` | what the origin's robots.txt says to us under that product token, JSON | its freshness, 24 h at most |
 * | `{d}:robots-claim:<origin>` | who fetches it now, or `failed` | one request, or a pause |
 * | `{d}:validators:<digest>` | `ETag` and `Last-Modified` of a page, JSON | the store's, 30 days by default |
 * | `{d}:followed:<batch>` | set of the job ids that handlers and sitemaps added to a batch | 7 days |
 * | `{d}:results` | stream of results, for the sink `stream` | none, a length |
 * | `{d}:undelivered` | stream of results that the webhook refused | none, a length |
 */
export interface WorkerKeys {
  readonly results: string;
  readonly undelivered: string;
  followed(batch: string): string;
  robots(origin: string, productToken: string): string;
  robotsClaim(origin: string): string;
  validators(url: string, headersRef: string | null): string;
}

/** `resultsId`: the place to which pages are delivered; what is known there is not known elsewhere. */
export function workerKeys(deployment: string, resultsId = ''): WorkerKeys {
  const { prefix, followed } = queueNames(deployment);
  return {
    results: `${prefix}:results`,
    undelivered: `${prefix}:undelivered`,
    followed: (batch) => `${followed}${batch}`,
    robots: (origin, productToken) => `${prefix}:robots:${productToken}:${origin}`,
    robotsClaim: (origin) => `${prefix}:robots-claim:${origin}`,
    // A page may look different to other headers, so validators are kept for each header set by itself.
    validators: (url, headersRef) =>
      `${prefix}:validators:${digest(`${resultsId}\n${headersRef ?? ''}\n${url}`)}`,
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 32);
}
