import type { Readable } from 'node:stream';
import type { HostKey } from '@holdoff/throttle-core';
import { type PolicyFile, resolvePolicy } from '@holdoff/throttle-core/policy-file';
import { enterUrl, type FieldFault } from '@holdoff/url-job';
import { readUrlLists } from './read-url-list.ts';

/** What a command line asks to be fetched, checked before anything runs. */
export interface RunRequests {
  /** Distinct canonical URLs in the order given. */
  readonly urls: readonly string[];
  readonly hosts: readonly HostKey[];
  readonly refused: readonly RefusedLine[];
  /** Lines that name a URL that was named before. */
  readonly repeated: number;
}

export interface RefusedLine {
  readonly place: string;
  readonly fault: FieldFault;
}

export async function readRequests(
  names: readonly string[],
  standardInput: Readable,
  policy: PolicyFile,
  nowMs: number,
): Promise<RunRequests> {
  const urls = new Set<string>();
  const hosts = new Set<HostKey>();
  const refused: RefusedLine[] = [];
  let repeated = 0;
  for await (const { place, text } of readUrlLists(names, standardInput)) {
    const entry = enterUrl({ url: text }, nowMs);
    if (entry.kind === 'invalid') {
      refused.push({ place, fault: entry.fault });
      continue;
    }
    const { url } = entry.value.job;
    if (urls.has(url)) repeated += 1;
    urls.add(url);
    hosts.add(resolvePolicy(policy, entry.value.hostname).hostKey);
  }
  return { urls: [...urls], hosts: [...hosts], refused, repeated };
}
