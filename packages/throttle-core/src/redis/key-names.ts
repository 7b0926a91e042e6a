import { createHash } from 'node:crypto';
import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';

/**
 * The only place that names Redis keys; `docs/redis-keys.md` lists them with writer, type, TTL and content.
 *
 * All keys of a deployment share one hash tag (`{holdoff}` by default), so that any script may touch any of
 * them on a cluster. Scripts that find a job's host or a due host themselves build the key from the same prefix.
 */
export interface KeyNames {
  readonly prefix: string;
  readonly wheel: string;
  readonly deadlines: string;
  readonly hosts: string;
  readonly batches: string;
  readonly sequence: string;
  readonly policy: string;
  /** Pub/sub channel, not a key: says that a new policy version is there. */
  readonly policyChannel: string;
  job(job: JobId): string;
  trail(job: JobId): string;
  batch(batch: BatchId): string;
  host(part: HostPart): string;
  leases(part: HostPart): string;
  lane(part: HostPart): string;
  called(part: HostPart): string;
  reply(nonce: string): string;
}

/** A host as it stands in keys and indexes. */
export type HostPart = string & { readonly hostPart: true };

const PLAIN_HOST = /^[A-Za-z0-9._:[\]-]{1,253}$/;
const ENCODED_MOST = 253;
const TAG = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Host names and group names stand as they are. Anything else is percent-encoded, or hashed when it is long: no text
 * from outside can break the hash tag or meet another host's key (`%` and `#` are in no plain name).
 */
export function hostPart(host: HostKey): HostPart {
  if (PLAIN_HOST.test(host)) return host as string as HostPart;
  const encoded = encodeURIComponent(host.toWellFormed());
  if (encoded.length <= ENCODED_MOST) return encoded as HostPart;
  return `#${createHash('sha256').update(host).digest('hex').slice(0, 40)}` as HostPart;
}

/** The host of a part; a hashed one stays as it is. */
export function hostOfPart(part: string): HostKey {
  return (part.includes('%') ? decodeURIComponent(part) : part) as HostKey;
}

export function keyNames(tag: string): KeyNames {
  if (!TAG.test(tag)) throw new RangeError(`a deployment's name is 1 to 64 of A-Z a-z 0-9 . _ -, not ${tag}`);
  const prefix = `{${tag}}`;
  return {
    prefix,
    wheel: `${prefix}:wheel`,
    deadlines: `${prefix}:deadlines`,
    hosts: `${prefix}:hosts`,
    batches: `${prefix}:batches`,
    sequence: `${prefix}:sequence`,
    policy: `${prefix}:policy`,
    policyChannel: `${prefix}:policy:changed`,
    job: (job) => `${prefix}:job:${job}`,
    trail: (job) => `${prefix}:trail:${job}`,
    batch: (batch) => `${prefix}:batch:${batch}`,
    host: (part) => `${prefix}:host:${part}`,
    leases: (part) => `${prefix}:leases:${part}`,
    lane: (part) => `${prefix}:lane:${part}`,
    called: (part) => `${prefix}:called:${part}`,
    reply: (nonce) => `${prefix}:reply:${nonce}`,
  };
}
