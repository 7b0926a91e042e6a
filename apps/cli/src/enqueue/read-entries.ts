import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { readBoundedLines } from '@holdoff/service-runtime';
import { type FieldFault, enterUrl, parseInboxEntry, showValue } from '@holdoff/url-job';

/** What the command line says for every URL that does not say it itself; values as the inbox takes them. */
export type EntryDefaults = Readonly<Partial<Record<string, string>>>;

export type ReadEntry =
  /** name, value, name, value …: checked, and as the inbox takes them. */
  | { readonly kind: 'entry'; readonly fields: readonly string[] }
  | { readonly kind: 'refused'; readonly place: string; readonly fault: FieldFault };

export class EntryListFault extends Error {
  readonly code = 'ENTRY_LIST';

  constructor(message: string) {
    super(message);
    this.name = 'EntryListFault';
  }
}

export interface EntrySource {
  readonly name: string;
  readonly kind: 'url' | 'file' | 'input';
  /** Of a file; 0: unknown. */
  readonly bytes: number;
}

export interface ReadEntriesOptions {
  readonly standardInput: Readable;
  readonly defaults: EntryDefaults;
  /** Where durations count from. */
  readonly nowMs: number;
  /** Told of the bytes read, for progress. */
  readonly passed: (bytes: number) => void;
  /** Ends the reading, also of a standard input in which nothing comes. */
  readonly signal: AbortSignal;
}

/** A URL of 8 KiB and the other fields of an entry, in JSON, with room for escapes. */
const LINE_BYTES_MAX = 64 * 1024;
/** Text has no NUL; a file that has one this early is none. */
const LOOK_BYTES = 8_192;

/** @throws EntryListFault when a file cannot be read: nothing is sent from a list that is only half there */
export async function openSources(names: readonly string[]): Promise<readonly EntrySource[]> {
  const sources: EntrySource[] = [];
  for (const name of names) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name)) sources.push({ name, kind: 'url', bytes: 0 });
    else if (name === '-') sources.push({ name: 'standard input', kind: 'input', bytes: 0 });
    else sources.push({ name, kind: 'file', bytes: await sizeOf(name) });
  }
  return sources;
}

async function sizeOf(path: string): Promise<number> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new EntryListFault(
      error.code === 'ENOENT'
        ? `no such file: ${path} (a URL starts with http:// or https://)`
        : `cannot read ${path}: ${error.code ?? 'unknown'}`,
    );
  });
  if (info.isDirectory()) throw new EntryListFault(`${path} is a folder, not a list of URLs`);
  return info.size;
}

/**
 * The entries of all sources, one after another, however large they are. A line is a URL or a JSON object with the
 * fields of an inbox entry; blank lines and lines that begin with `#` are left out. A bad line is an answer
 * with its place, and the next one is read.
 *
 * @throws EntryListFault for a file that is no text or cannot be read to its end
 */
export async function* readEntries(
  sources: readonly EntrySource[],
  options: ReadEntriesOptions,
): AsyncGenerator<ReadEntry> {
  const { defaults, nowMs } = options;
  for (const source of sources) {
    if (source.kind === 'url') {
      yield entryOf(source.name, source.name, defaults, nowMs);
      continue;
    }
    const stream = source.kind === 'input' ? options.standardInput : createReadStream(source.name);
    for await (const line of readBoundedLines(textOnly(stream, source.name, options), LINE_BYTES_MAX)) {
      const place = `${source.name}:${line.number}`;
      if (line.kind === 'too_long') {
        const rule = `must be at most ${LINE_BYTES_MAX / 1_024} KiB long`;
        yield { kind: 'refused', place, fault: { field: 'line', value: '', rule } };
        continue;
      }
      const text = line.text.replace(/^\uFEFF/, '').trim();
      if (text !== '' && !text.startsWith('#')) yield entryOf(text, place, defaults, nowMs);
    }
  }
}

async function* textOnly(
  stream: Readable,
  name: string,
  { passed, signal }: ReadEntriesOptions,
): AsyncGenerator<Uint8Array> {
  let looked = 0;
  const end = (): void => void stream.destroy();
  signal.addEventListener('abort', end, { once: true });
  try {
    for await (const piece of stream as AsyncIterable<Uint8Array | string>) {
      const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece;
      if (looked < LOOK_BYTES && chunk.subarray(0, LOOK_BYTES - looked).includes(0)) {
        throw new EntryListFault(`${name} is not a text file`);
      }
      looked += chunk.length;
      yield chunk;
      passed(chunk.length);
    }
  } catch (error) {
    if (signal.aborted) return;
    if (error instanceof EntryListFault) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new EntryListFault(`cannot read ${name}: ${code}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function entryOf(text: string, place: string, defaults: EntryDefaults, nowMs: number): ReadEntry {
  const own = text.startsWith('{') ? jsonFields(text) : { kind: 'fields' as const, fields: { url: text } };
  if (own.kind === 'invalid') return { kind: 'refused', place, fault: own.fault };
  const fields: string[] = [];
  for (const [name, value] of Object.entries({ ...defaults, ...own.fields })) {
    if (value !== undefined) fields.push(name, value);
  }
  const request = parseInboxEntry(fields, nowMs);
  if (request.kind === 'invalid') return { kind: 'refused', place, fault: request.fault };
  const entry = enterUrl(request.value, nowMs);
  return entry.kind === 'invalid'
    ? { kind: 'refused', place, fault: entry.fault }
    : { kind: 'entry', fields };
}

function jsonFields(
  text: string,
):
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, string>> }
  | { readonly kind: 'invalid'; readonly fault: FieldFault } {
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    return {
      kind: 'invalid',
      fault: { field: 'line', value: showValue(text), rule: 'must be a URL or valid JSON' },
    };
  }
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(object ?? {})) {
    if (typeof value !== 'string' && typeof value !== 'number') {
      return {
        kind: 'invalid',
        fault: { field: showValue(name), value: showValue(value), rule: 'must be a text or a number' },
      };
    }
    fields.set(name, String(value));
  }
  return { kind: 'fields', fields: Object.fromEntries(fields) };
}
