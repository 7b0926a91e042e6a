import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { enterUrl, parseInboxEntry } from '@holdoff/url-job';
import { type EntryDefaults, type EntrySource, readEntries } from '../enqueue/read-entries.ts';

export interface UrlCounts {
  /** Distinct URLs by hostname. */
  readonly byHostname: ReadonlyMap<string, number>;
  /** Lines that would be refused. */
  readonly refused: number;
}

export interface CountOptions {
  readonly standardInput: Readable;
  readonly defaults: EntryDefaults;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Beyond this many a URL that is listed twice is counted twice: telling them apart would take the memory. */
const DISTINCT_MAX = 2_000_000;

const passed = (): void => undefined;

/** Reads lists as `holdoff enqueue` does, to the end, and sends nothing. */
export async function countUrls(
  sources: readonly EntrySource[],
  { standardInput, defaults, nowMs, signal }: CountOptions,
): Promise<UrlCounts> {
  const byHostname = new Map<string, number>();
  const seen = new Set<string>();
  let refused = 0;
  for await (const read of readEntries(sources, { standardInput, defaults, nowMs, passed, signal })) {
    const request = read.kind === 'entry' ? parseInboxEntry(read.fields, nowMs) : undefined;
    const entry = request?.kind === 'ok' ? enterUrl(request.value, nowMs) : undefined;
    if (entry?.kind !== 'ok') {
      refused += 1;
      continue;
    }
    const { id, hostname } = entry.value;
    if (seen.has(id)) continue;
    if (seen.size < DISTINCT_MAX) seen.add(id);
    byHostname.set(hostname, (byHostname.get(hostname) ?? 0) + 1);
  }
  return { byHostname, refused };
}

/** Sources that can be read twice. Standard input and pipes give what they have once. */
export async function readableTwice(sources: readonly EntrySource[]): Promise<readonly EntrySource[]> {
  const twice: EntrySource[] = [];
  for (const source of sources) {
    if (source.kind === 'url' || (source.kind === 'file' && (await stat(source.name)).isFile()))
      twice.push(source);
  }
  return twice;
}
