import { type Listing, LISTINGS, type UrlJob } from './url-job.ts';

/**
 * One line of the stream of stopped jobs: what a job was, and why it ended without a useful result. The queue
 * forgets an ended job soon; this keeps what is needed to enter it again.
 */
export interface StoppedEntry {
  /** Job id and attempt. Recording is at least once; this key tells the copies. */
  readonly key: string;
  readonly job: string;
  readonly url: string;
  readonly batch: string;
  /** Throttling scope of the job's own URL. */
  readonly host: string;
  readonly reason: string;
  /** 0: no answer. */
  readonly status: number;
  /** One short sentence for people. */
  readonly detail: string;
  readonly attempts: number;
  /** ISO 8601, on the gate's clock. */
  readonly at: string;
  readonly method: UrlJob['method'];
  readonly priority: number;
  readonly headersRef: string | null;
  /** What it listed; absent: it was a page. */
  readonly reads?: Listing;
}

const DETAIL_CHARACTERS_MAX = 300;

/** name, value, name, value … as `XADD` takes them. */
export function stoppedFields(entry: StoppedEntry): readonly string[] {
  const fields = {
    key: entry.key,
    job: entry.job,
    url: entry.url,
    batch: entry.batch,
    host: entry.host,
    reason: entry.reason,
    status: String(entry.status),
    detail: entry.detail.slice(0, DETAIL_CHARACTERS_MAX).toWellFormed(),
    attempts: String(entry.attempts),
    at: entry.at,
    method: entry.method,
    priority: String(entry.priority),
    headers: entry.headersRef ?? '',
    ...(entry.reads === undefined ? {} : { reads: entry.reads }),
  };
  return Object.entries(fields).flat();
}

/** undefined: written by somebody else, or by a version that wrote less. */
export function readStoppedEntry(fields: readonly string[]): StoppedEntry | undefined {
  const given = new Map<string, string>();
  for (let index = 0; index + 1 < fields.length; index += 2)
    given.set(fields[index] ?? '', fields[index + 1] ?? '');
  const text = (name: string): string => given.get(name) ?? '';
  const number = (name: string): number => Number(given.get(name) ?? Number.NaN);
  const method = text('method');
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const numbers = [number('status'), number('attempts'), number('priority')];
  if (!numbers.every(Number.isInteger)) return undefined;
  if (['key', 'job', 'url', 'batch', 'host', 'reason', 'at'].some((name) => text(name) === ''))
    return undefined;
  const reads = LISTINGS.find((listing) => listing === text('reads'));
  return {
    ...(reads === undefined ? {} : { reads }),
    key: text('key'),
    job: text('job'),
    url: text('url'),
    batch: text('batch'),
    host: text('host'),
    reason: text('reason'),
    status: number('status'),
    detail: text('detail'),
    attempts: number('attempts'),
    at: text('at'),
    method,
    priority: number('priority'),
    headersRef: text('headers') === '' ? null : text('headers'),
  };
}
