import type { FetchFault } from '../fetch/fetch-fault.ts';

export type ContentCoding = 'identity' | 'gzip' | 'deflate' | 'br' | 'zstd';

/** What we tell servers we can read. */
export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

const KNOWN: ReadonlyMap<string, ContentCoding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
]);

/**
 * Reads `Content-Encoding` (RFC 9110 §8.4), all lines of it. More than one coding is refused: nobody stacks them
 * except to make a decoder work. An unknown one is refused rather than handed on as if it were the page.
 */
export function readContentCoding(lines: readonly string[]): ContentCoding | FetchFault {
  const codings = lines
    .join(',')
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '' && token !== 'identity');
  const [first] = codings;
  if (first === undefined) return 'identity';
  if (codings.length > 1) {
    return { kind: 'bad_content', rule: 'stacked_codings', detail: `${codings.length} content codings` };
  }
  return (
    KNOWN.get(first) ?? {
      kind: 'bad_content',
      rule: 'unknown_coding',
      detail: `content coding ${JSON.stringify(first.slice(0, 30))}`,
    }
  );
}

/** A coding of the transfer itself other than `chunked` would reach us undecoded. */
export function transferCodingFault(lines: readonly string[]): FetchFault | undefined {
  const codings = lines
    .join(',')
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '' && token !== 'identity' && token !== 'chunked');
  return codings.length === 0
    ? undefined
    : { kind: 'bad_content', rule: 'transfer_coding', detail: 'transfer coding other than chunked' };
}
