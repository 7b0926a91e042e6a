import { createHash } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { AnswerDescription } from '../description.ts';
import type { Exchange, HeaderLines } from '../exchange.ts';

export type PageDescription = Extract<AnswerDescription, { kind: 'page' }>;

/** A page made once and sent often. */
export interface Page {
  readonly status: number;
  readonly headers: HeaderLines;
  readonly body: Buffer;
  /** null: none is sent. */
  readonly etag: string | null;
  readonly distinct: boolean;
}

const PACK = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
} as const;

export function buildPage(description: PageDescription, title: string): Page {
  const plain = Buffer.from(description.body ?? filler(title, description.bytes));
  const body = description.encoding === undefined ? plain : PACK[description.encoding](plain);
  const etag = description.etag ? `"${createHash('sha256').update(plain).digest('hex').slice(0, 16)}"` : null;
  return {
    status: description.status,
    body,
    etag,
    distinct: description.distinct && description.encoding === undefined && etag === null,
    headers: [
      ['Content-Type', description.contentType],
      ...(description.encoding === undefined ? [] : ([['Content-Encoding', description.encoding]] as const)),
      ...(etag === null ? [] : ([['ETag', etag]] as const)),
      ...description.cookies.map((cookie) => ['Set-Cookie', cookie] as const),
      ...Object.entries(description.headers),
    ],
  };
}

const built = new WeakMap<PageDescription, Page>();

/** The page of a rule, made at its first use. */
export function pageOf(description: PageDescription, title: string): Page {
  const known = built.get(description);
  if (known !== undefined) return known;
  const page = buildPage(description, title);
  built.set(description, page);
  return page;
}

export function sendPage(exchange: Exchange, page: Page, rateHeaders: HeaderLines): void {
  const headers = rateHeaders.length === 0 ? page.headers : [...page.headers, ...rateHeaders];
  if (page.etag !== null && knows(exchange.request.headers['if-none-match'], page.etag)) {
    exchange.head(304, headers);
    exchange.response.end();
    return;
  }
  exchange.whole(page.status, headers, page.distinct ? ownBody(page.body, exchange.entry.path) : page.body);
}

/** The same length as every page, with the path written over its beginning. */
function ownBody(body: Buffer, path: string): Buffer {
  const own = Buffer.from(body);
  own.write(`${path}\n`);
  return own;
}

/** If-None-Match compares weakly (RFC 9110 §13.1.2). */
function knows(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}

function filler(title: string, bytes: number): string {
  const head = `<!doctype html><title>${title}</title>\n`;
  const line = 'A page of the sample origin: nothing to see, everything to count.\n';
  return (head + line.repeat(Math.ceil(bytes / line.length))).slice(0, bytes);
}
