import { DEFAULT_BATCH, parseName } from './batch-name.ts';
import { canonicalUrl } from './canonical-url.ts';
import { type Parsed, invalid, ok } from './field-fault.ts';
import { type UrlJobId, urlJobId } from './job-id.ts';
import { PRIORITY_MAX } from './url-job-schema.ts';
import { LISTINGS, type UrlJob } from './url-job.ts';

/** What a producer says about one URL. Only `url` is required. */
export interface UrlRequest {
  readonly url: string;
  /** Default `default`. */
  readonly batch?: string;
  /** Default GET. */
  readonly method?: string;
  /** 0 (first) to 100 (last), default 50. */
  readonly priority?: number;
  /** Absolute, ms since the epoch, from a year ago to 90 days ahead. */
  readonly notBeforeMs?: number;
  /** Absolute, ms since the epoch, from a year ago to a year ahead. */
  readonly deadlineMs?: number;
  /** Name of a header set kept by the workers. */
  readonly headersRef?: string;
  /** What it lists; without it, it is a page. */
  readonly reads?: string | undefined;
}

export interface UrlEntry {
  readonly id: UrlJobId;
  readonly job: UrlJob;
  readonly hostname: string;
}

export const DEFAULT_PRIORITY = 50;
const DAY_MS = 86_400_000;
const PAST_MS_MAX = 365 * DAY_MS;
const NOT_BEFORE_AHEAD_MS_MAX = 90 * DAY_MS;
const DEADLINE_AHEAD_MS_MAX = 365 * DAY_MS;

/** Checks a producer's request and gives it its canonical form and id. Never throws. */
export function enterUrl(request: UrlRequest, nowMs: number): Parsed<UrlEntry> {
  const url = canonicalUrl(request.url);
  if (url.kind === 'invalid') return url;
  const batch = parseName('batch', request.batch ?? DEFAULT_BATCH);
  if (batch.kind === 'invalid') return batch;
  const headersRef = request.headersRef === undefined ? ok(null) : parseName('headers', request.headersRef);
  if (headersRef.kind === 'invalid') return headersRef;
  const method = request.method ?? 'GET';
  if (method !== 'GET' && method !== 'HEAD') return invalid('method', method, 'must be GET or HEAD');
  const reads = LISTINGS.find((listing) => listing === request.reads);
  if (reads !== request.reads)
    return invalid('reads', request.reads, `must be one of ${LISTINGS.join(', ')}`);
  if (reads !== undefined && method !== 'GET')
    return invalid('method', method, 'must be GET for a sitemap, which is read');
  const priority = request.priority ?? DEFAULT_PRIORITY;
  if (!Number.isInteger(priority) || priority < 0 || priority > PRIORITY_MAX) {
    return invalid('priority', priority, `must be a whole number from 0 (first) to ${PRIORITY_MAX} (last)`);
  }
  const notBefore = instantWithin('not_before', request.notBeforeMs, nowMs, NOT_BEFORE_AHEAD_MS_MAX);
  if (notBefore.kind === 'invalid') return notBefore;
  const deadline = instantWithin('deadline', request.deadlineMs, nowMs, DEADLINE_AHEAD_MS_MAX);
  if (deadline.kind === 'invalid') return deadline;
  if (notBefore.value !== null && deadline.value !== null && deadline.value <= notBefore.value) {
    return invalid('deadline', new Date(deadline.value).toISOString(), 'must be after not_before');
  }

  const job: UrlJob = {
    v: 1,
    url: url.value.url,
    batch: batch.value,
    method,
    priority,
    notBeforeMs: notBefore.value,
    deadlineMs: deadline.value,
    headersRef: headersRef.value,
    ...(reads === undefined ? {} : { reads }),
    enteredAtMs: nowMs,
    hop: null,
  };
  return ok({ id: urlJobId(job), job, hostname: url.value.hostname });
}

function instantWithin(
  field: string,
  instantMs: number | undefined,
  nowMs: number,
  aheadMsMax: number,
): Parsed<number | null> {
  if (instantMs === undefined) return ok(null);
  const rule = `must be an instant between a year ago and ${aheadMsMax / DAY_MS} days ahead`;
  if (!Number.isSafeInteger(instantMs)) return invalid(field, instantMs, rule);
  if (instantMs >= nowMs - PAST_MS_MAX && instantMs <= nowMs + aheadMsMax) return ok(instantMs);
  return invalid(field, showInstant(instantMs), rule);
}

function showInstant(instantMs: number): string {
  const date = new Date(instantMs);
  return Number.isNaN(date.getTime()) ? String(instantMs) : date.toISOString();
}
