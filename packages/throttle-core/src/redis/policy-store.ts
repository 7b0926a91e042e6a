import type { Redis } from 'ioredis';
import { parsePolicyFile } from '../policy-file/parse-policy-file.ts';
import type { PolicyProblem } from '../policy-file/problem.ts';
import { asGateError } from './gate-unavailable.ts';
import { keyNames } from './key-names.ts';
import { scriptRunner } from './script-runner.ts';
import { storePolicyText } from './scripts/publish-policy.ts';

/** A policy text as it is stored. It was valid for whoever published it. */
export interface StoredPolicy {
  /** Grows with each new text; 0: nothing was ever published. */
  readonly version: number;
  readonly contentHash: string;
  readonly text: string;
  readonly name: string;
  readonly publishedAtMs: number;
  readonly publishedBy: string;
}

export interface PublishPolicyRequest {
  /** The policy file's text. */
  readonly text: string;
  /** The file's name, for messages. */
  readonly name: string;
  /** Who publishes, for people. */
  readonly by: string;
  /** Name of the deployment. */
  readonly tag: string;
}

export type PublishPolicyReply =
  | { readonly kind: 'published'; readonly version: number }
  /** The text in force is the same one. */
  | { readonly kind: 'unchanged'; readonly version: number }
  /** The text is not a valid policy: the version in force stays. */
  | { readonly kind: 'refused'; readonly problems: readonly PolicyProblem[] };

/**
 * Checks a policy file and makes it the fleet's policy.
 *
 * @throws GateUnavailable when Redis does not answer; publishing again is safe.
 */
export async function publishPolicy(
  redis: Redis,
  { text, name, by, tag }: PublishPolicyRequest,
): Promise<PublishPolicyReply> {
  const parsed = parsePolicyFile(text, name);
  if (parsed.kind === 'invalid') return { kind: 'refused', problems: parsed.problems };
  const { contentHash } = parsed.file;
  const stored = await storePolicyText(scriptRunner(redis), keyNames(tag), { text, contentHash, name, by });
  return { kind: stored.isNew ? 'published' : 'unchanged', version: stored.version };
}

/**
 * The policy in force; undefined: none was published.
 *
 * @throws GateUnavailable when Redis does not answer.
 */
export async function readStoredPolicy(redis: Redis, tag: string): Promise<StoredPolicy | undefined> {
  const stored = await askFor('HGETALL', () => redis.hgetall(keyNames(tag).policy));
  const { version, hash, text, name, at, by } = stored;
  if (version === undefined || hash === undefined || text === undefined) return undefined;
  return {
    version: Number(version),
    contentHash: hash,
    text,
    name: name ?? '',
    publishedAtMs: Number(at ?? 0),
    publishedBy: by ?? '',
  };
}

/** What tells two policies in force apart: the version alone begins again when the store was emptied. */
export async function readStoredPolicyMark(redis: Redis, tag: string): Promise<string> {
  const mark = await askFor('HMGET', () => redis.hmget(keyNames(tag).policy, 'version', 'hash'));
  return mark.join(' ');
}

async function askFor<T>(command: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw asGateError(command, error);
  }
}
