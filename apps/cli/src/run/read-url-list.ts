import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** A line longer than this cannot be a URL we accept (8 KiB) with room for JSON around it. */
const LINE_BYTES_MAX = 64 * 1024;

export class UrlListFault extends Error {
  readonly code = 'URL_LIST';

  constructor(message: string) {
    super(message);
    this.name = 'UrlListFault';
  }
}

export interface ListedLine {
  /** Where it stands, for messages: `urls.txt:12`, `argument 3`. */
  readonly place: string;
  readonly text: string;
}

/** The URLs that a command line names: URLs themselves, files with one URL a line, `-` for standard input. */
export async function* readUrlLists(
  names: readonly string[],
  standardInput: Readable,
): AsyncGenerator<ListedLine> {
  for (const [index, name] of names.entries()) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name)) yield { place: `argument ${index + 1}`, text: name };
    else if (name === '-') yield* readLines(standardInput, 'standard input');
    else yield* readLines(await openList(name), name);
  }
}

async function openList(path: string): Promise<Readable> {
  const info = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UrlListFault(
      error.code === 'ENOENT'
        ? `no such file: ${path} (a URL starts with http:// or https://)`
        : `cannot read ${path}: ${error.code ?? error.message}`,
    );
  });
  if (info.isDirectory()) throw new UrlListFault(`${path} is a folder, not a list of URLs`);
  return createReadStream(path);
}

/** Splits a byte stream into trimmed lines; blank lines and lines that start with `#` are left out. */
async function* readLines(stream: Readable, name: string): AsyncGenerator<ListedLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let rest = '';
  const decode = (chunk: Uint8Array | undefined): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch {
      throw new UrlListFault(`${name} is not a text file: bytes near line ${number + 1} are not UTF-8`);
    }
  };
  const take = function* (text: string): Generator<ListedLine> {
    number += 1;
    if (text.includes('\0'))
      throw new UrlListFault(`${name} is not a text file: line ${number} has a NUL byte`);
    if (text.length > LINE_BYTES_MAX) throw tooLong(name, number);
    const line = text.trim();
    if (line !== '' && !line.startsWith('#')) yield { place: `${name}:${number}`, text: line };
  };
  for await (const chunk of stream as AsyncIterable<Uint8Array | string>) {
    const pieces = (rest + decode(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)).split('\n');
    rest = pieces.pop() ?? '';
    for (const piece of pieces) yield* take(piece);
    if (rest.length > LINE_BYTES_MAX) throw tooLong(name, number + 1);
  }
  rest += decode(undefined);
  if (rest !== '') yield* take(rest);
}

function tooLong(name: string, line: number): UrlListFault {
  return new UrlListFault(`${name}: line ${line} is longer than ${LINE_BYTES_MAX / 1024} KiB`);
}
