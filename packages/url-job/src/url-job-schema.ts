import { z } from 'zod';
import { NAME_GRAMMAR } from './batch-name.ts';
import { URL_BYTES_MAX, canonicalUrl } from './canonical-url.ts';
import { type Parsed, invalid, ok } from './field-fault.ts';
import { urlJobId } from './job-id.ts';
import { measure } from './payload-size.ts';
import { LISTINGS, type UrlJob } from './url-job.ts';

/** A job as entered takes half of 16 KiB at most; the rest is room for the redirects of its attempt. */
const JOB_BYTES_MAX = 65_536;
const JOB_DEPTH_MAX = 4;
export const PRIORITY_MAX = 100;
const HOPS_MAX = 20;
/** Beyond the year 2255 no instant is meant; below 0 none exists. */
const INSTANT_MS_MAX = 9_000_000_000_000;

const instant = z.int().min(0).max(INSTANT_MS_MAX).nullable();
const link = z.string().max(URL_BYTES_MAX);

const schema = z.strictObject({
  v: z.literal(1),
  url: link,
  batch: z.string().regex(NAME_GRAMMAR),
  bornIn: z.string().regex(NAME_GRAMMAR).optional(),
  method: z.enum(['GET', 'HEAD']),
  priority: z.int().min(0).max(PRIORITY_MAX),
  notBeforeMs: instant,
  deadlineMs: instant,
  headersRef: z.string().regex(NAME_GRAMMAR).nullable(),
  reads: z.enum(LISTINGS).optional(),
  enteredAtMs: z.int().min(0).max(INSTANT_MS_MAX),
  hop: z
    .strictObject({
      url: link,
      count: z.int().min(1).max(HOPS_MAX),
      visited: z.array(z.string().max(64)).max(HOPS_MAX + 1),
      asked: z.boolean(),
    })
    .nullable(),
});

/**
 * Reads what a queue job carries. Whoever can write to Redis can put anything there, so nothing is trusted:
 * size and depth are bounded before anything else looks, unknown keys are refused, and the result is made of
 * named fields only. With `id`, the payload must be the one that the id stands for.
 *
 * Never throws.
 */
export function parseUrlJob(data: unknown, id?: string): Parsed<UrlJob> {
  const size = measure(data, { bytesMax: JOB_BYTES_MAX, depthMax: JOB_DEPTH_MAX });
  if (size !== 'fits') return invalid('data', data, size);

  const read = schema.safeParse(data);
  if (!read.success) return firstFault(data, read.error);
  const job = read.data;

  const own = canonicalUrl(job.url);
  if (own.kind === 'invalid') return own;
  if (own.value.url !== job.url) return invalid('url', job.url, 'must be in canonical form');
  if (job.hop !== null) {
    const hop = canonicalUrl(job.hop.url, 'hop.url');
    if (hop.kind === 'invalid') return hop;
  }
  if (id !== undefined && id !== urlJobId({ ...job, batch: job.bornIn ?? job.batch })) {
    return invalid('id', id, 'must be the id of its URL, method and batch');
  }
  return ok(job);
}

function firstFault(data: unknown, error: z.ZodError): Parsed<never> {
  const issue = error.issues[0];
  if (issue === undefined) return invalid('data', data, 'must be a URL job');
  if (issue.code === 'unrecognized_keys') {
    return invalid([...issue.path, issue.keys[0] ?? ''].join('.'), '', 'must be a known field');
  }
  return invalid(issue.path.join('.') || 'data', valueAt(data, issue.path), issue.message);
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  let value: unknown = data;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}
