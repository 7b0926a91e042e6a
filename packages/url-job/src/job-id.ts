import { createHash } from 'node:crypto';

/** The id under which a URL lives in the queue and in the ledger, for all its waits, restarts and hand-offs. */
export type UrlJobId = `j_${string}`;

/**
 * The only ids that may reach the queue. BullMQ keeps a job's hash beside its own keys, so an id such as
 * `delayed` or `meta` breaks the queue or vanishes, and one with `:` or of digits only is refused or lost.
 */
export const JOB_ID_GRAMMAR = /^j_[A-Za-z0-9_-]{8,64}$/;

/** 144 bits: two of 10^12 URLs share an id with a probability below 10^-19. */
const DIGEST_BYTES = 18;

/** The same method and canonical URL in the same batch have the same id; nothing else takes part. */
export function urlJobId(job: {
  readonly batch: string;
  readonly method: string;
  readonly url: string;
}): UrlJobId {
  const digest = createHash('sha256').update(`${job.batch}\n${job.method}\n${job.url}`).digest();
  return `j_${digest.subarray(0, DIGEST_BYTES).toString('base64url')}`;
}

export function isUrlJobId(value: unknown): value is UrlJobId {
  return typeof value === 'string' && JOB_ID_GRAMMAR.test(value);
}
