import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from './create-fetch-page.ts';
import type { PageExchange } from './fetch-page.ts';
import { checkUrl } from './guard/check-url.ts';
import { LOOPBACK_OPEN, pageRequest } from './testing/page-request.ts';
import { answer, type RawServer, rawServer } from './testing/raw-server.ts';

/**
 * Answers that are odd rather than hostile: what people's servers really send, at the edges of the RFCs. Each is either
 * read as it is meant, whole, or told apart as what it is.
 */
const TEXT = '<p>page</p>';
const gzip = gzipSync(TEXT);
const zstd = zstdCompressSync(TEXT);
/** A frame that decoders skip (RFC 8878 §3.1.2). */
const skipped = Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0]), Buffer.from('abcd')]);

const coded = (coding: string, body: Buffer): Buffer =>
  answer('200 OK', [`Content-Encoding: ${coding}`], body);
const said = (lines: string): Buffer => Buffer.from(lines.replaceAll('\n', '\r\n'), 'latin1');

/** What is read of it: the text; `cut`: a failed connection, tried again; else the stop reason. */
type Read = { readonly text: string; readonly state?: 'unknown' } | 'cut' | 'not_http' | 'bad_content';
const whole = { text: TEXT };
const page = { text: 'page' };

const BODIES: readonly (readonly [name: string, said: Buffer, read: Read])[] = [
  ['gzip of several members', coded('gzip', Buffer.concat([gzip, gzip])), { text: TEXT + TEXT }],
  ['gzip padded with zeros', coded('gzip', Buffer.concat([gzip, Buffer.alloc(99)])), whole],
  [
    'gzip with something else behind it',
    coded('gzip', Buffer.concat([gzip, Buffer.from('else')])),
    'bad_content',
  ],
  ['gzip with a wrong checksum', coded('gzip', flipped(gzip, -6)), 'bad_content'],
  ['gzip of nothing', coded('gzip', gzipSync('')), { text: '' }],
  ['gzip under its old name, in capitals', coded('X-GZIP', gzip), whole],
  ['gzip after identity', coded('identity, gzip', gzip), whole],
  ['gzip that is none', coded('gzip', Buffer.from(TEXT)), 'bad_content'],
  ['two codings', coded('gzip, br', gzip), 'bad_content'],
  ['deflate by the letter', coded('deflate', deflateSync(TEXT)), whole],
  ['deflate as some send it', coded('deflate', deflateRawSync(TEXT)), whole],
  ['deflate of one byte', coded('deflate', Buffer.from([0x78])), 'cut'],
  ['br with something else behind it', coded('br', Buffer.concat([brotliCompressSync(TEXT), gzip])), whole],
  ['zstd of several frames', coded('zstd', Buffer.concat([zstd, zstd, zstd])), { text: TEXT.repeat(3) }],
  [
    'zstd with a frame to skip',
    coded('zstd', Buffer.concat([skipped, zstd, skipped, zstd])),
    { text: TEXT + TEXT },
  ],
  ['zstd whose second frame is cut', coded('zstd', Buffer.concat([zstd, zstd.subarray(0, 9)])), 'cut'],
  ['zstd with something else behind it', coded('zstd', Buffer.concat([zstd, Buffer.from('else!')])), whole],
  [
    'zstd of endless tiny frames',
    coded('zstd', Buffer.concat(Array<Buffer>(2_000).fill(zstd))),
    'bad_content',
  ],
  ...['compress', 'none', 'utf-8', 'aws-chunked', 'sdch', '*'].map(
    (name) => [`a coding called ${name}`, coded(name, gzip), 'bad_content'] as const,
  ),
  ['an empty coding', coded('', Buffer.from(TEXT)), whole],
];

const FRAMINGS: readonly (readonly [name: string, said: Buffer, read: Read])[] = [
  [
    'HTTP/1.0 up to the end of the connection',
    said('HTTP/1.0 200 OK\n\npage'),
    { ...page, state: 'unknown' },
  ],
  ['HTTP/1.0 with a length', said('HTTP/1.0 200 OK\nContent-Length: 4\n\npage'), page],
  ['HTTP/0.9', said('page without a head'), 'not_http'],
  ['HTTP/3 in words', said('HTTP/3 200 OK\n\n'), 'not_http'],
  ['no reason phrase', said('HTTP/1.1 200\nContent-Length: 4\n\npage'), page],
  ['empty lines first', said('\n\nHTTP/1.1 200 OK\nContent-Length: 4\n\npage'), page],
  ['bare line feeds', Buffer.from('HTTP/1.1 200 OK\nContent-Length: 4\n\npage'), 'not_http'],
  ['a folded header', said('HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 4\n\npage'), 'not_http'],
  ['a space before the colon', said('HTTP/1.1 200 OK\nContent-Length : 4\n\npage'), 'not_http'],
  ['a header of Latin-1', said('HTTP/1.1 200 OK\nX: caf\xe9\nContent-Length: 4\n\npage'), page],
  ['a control character', said('HTTP/1.1 200 OK\nX: a\x01b\nContent-Length: 4\n\npage'), 'not_http'],
  [
    'the same length twice',
    said('HTTP/1.1 200 OK\nContent-Length: 4\nContent-Length: 4\n\npage'),
    'not_http',
  ],
  ['a list of lengths', said('HTTP/1.1 200 OK\nContent-Length: 4, 4\n\npage'), 'not_http'],
  ['a length with a sign', said('HTTP/1.1 200 OK\nContent-Length: +4\n\npage'), 'not_http'],
  [
    'a length beyond all numbers',
    said(`HTTP/1.1 200 OK\nContent-Length: ${'9'.repeat(30)}\n\npage`),
    'not_http',
  ],
  ['more bytes than announced', said('HTTP/1.1 200 OK\nContent-Length: 4\n\npage and more'), 'cut'],
  ['chunks in capitals', said('HTTP/1.1 200 OK\nTransfer-Encoding: CHUNKED\n\n4\npage\n0\n\n'), page],
  [
    'chunks with extensions',
    said('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4;a="b"\npage\n0;x\n\n'),
    page,
  ],
  ['trailers', said('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n4\npage\n0\nX: y\n\n'), page],
  [
    'no coding of the transfer, by name',
    said('HTTP/1.1 200 OK\nTransfer-Encoding: identity\n\npage'),
    { ...page, state: 'unknown' },
  ],
  ['a hexadecimal prefix', said('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0x4\npage\n0\n\n'), 'cut'],
  ['a negative chunk', said('HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n-1\npage\n0\n\n'), 'cut'],
  [
    '100, 103 and 199 before the answer',
    said(
      'HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 199 X\n\nHTTP/1.1 200 OK\nContent-Length: 4\n\npage',
    ),
    page,
  ],
  ['a status of two digits', said('HTTP/1.1 99 X\nContent-Length: 0\n\n'), 'not_http'],
  ['a status of four digits', said('HTTP/1.1 1000 X\nContent-Length: 0\n\n'), 'not_http'],
  [
    'a NUL in the body, which is text',
    said('HTTP/1.1 200 OK\nContent-Length: 4\n\npa\0e'),
    { text: 'pa\0e' },
  ],
];

const NO_PAGES: readonly (readonly [name: string, said: Buffer])[] = [
  ['304 without having been asked', said('HTTP/1.1 304 Not Modified\n\n')],
  ['300, a choice', answer('300 Multiple Choices', ['Location: /a'], '<a href="/a">')],
  ['305, another proxy', answer('305 Use Proxy', ['Location: http://proxy.test/'])],
  ['306', answer('306 X', ['Location: /a'])],
  ['301 without a target', answer('301 Moved Permanently', [])],
  ['302 to nothing', answer('302 Found', ['Location:'])],
  ['307 to white space', answer('307 X', ['Location:   '])],
];

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length + at] = (copy.at(at) ?? 0) ^ 0xff;
  return copy;
}

let fetcher: PageFetcher;
let server: RawServer;
let next: Uint8Array = Buffer.alloc(0);
beforeAll(async () => {
  fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test' });
  server = await rawServer((socket) => {
    socket.write(next, () => setTimeout(() => socket.end(), 20));
  });
});
afterAll(async () => {
  fetcher.close();
  await server.close();
});

function fetched(bytes: Buffer, path = '/'): Promise<PageExchange> {
  next = bytes;
  return fetcher.fetchPage(pageRequest(server.origin + path, { budgetMs: 5_000 }));
}

function expected(read: Read): object {
  switch (read) {
    case 'bad_content':
      return { outcome: { class: 'served', source: 'destination', stop: read }, text: '' };
    case 'cut':
      return { outcome: { class: 'transport', stop: null }, status: 200, bodyState: 'truncated', text: '' };
    case 'not_http':
      return { outcome: { class: 'transport', source: 'destination', stop: null }, status: 0 };
    default:
      return {
        outcome: { class: 'served', stop: null },
        bodyState: read.state ?? 'complete',
        text: read.text,
      };
  }
}

describe('bodies', () => {
  test.each([...BODIES, ...FRAMINGS])('%s', async (_, bytes, read) => {
    const got = await fetched(bytes);
    expect(got.durationMs).toBeLessThan(4_000);
    expect({ ...got, text: Buffer.from(got.body).toString() }).toMatchObject(expected(read));
  });

  test('zstd frames are found wherever the pieces of the body are cut', async () => {
    const bytes = Buffer.concat([zstd, skipped, zstd]);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const said = await rawServer((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: ${bytes.length}\r\n\r\n`);
        socket.write(bytes.subarray(0, cut), () =>
          setTimeout(() => socket.write(bytes.subarray(cut)), cut % 4 === 0 ? 3 : 0),
        );
      });
      const got = await fetcher.fetchPage(pageRequest(`${said.origin}/`));
      expect({ cut, text: Buffer.from(got.body).toString() }).toEqual({ cut, text: TEXT + TEXT });
      await said.close();
    }
  });
});

describe('answers below 400 without a page', () => {
  test.each(NO_PAGES)('%s is no result', async (_, bytes) => {
    expect(await fetched(bytes)).toMatchObject({
      outcome: { class: 'served', source: 'destination', stop: 'bad_content' },
      redirectTo: null,
      body: new Uint8Array(0),
    });
  });
});

/** Where a redirect goes from `/dir/from?q`, and what is made of that before anything is asked. */
const LOCATIONS: readonly (readonly [location: string, to: string, verdict: string])[] = [
  ['next', '/dir/next', 'ok'],
  ['?x=1', '/dir/from?x=1', 'ok'],
  ['#part', '/dir/from?q', 'ok'],
  ['./a/../b', '/dir/b', 'ok'],
  ['../../../x', '/x', 'ok'],
  ['/a b/c', '/a%20b/c', 'ok'],
  ['  /padded  ', '/padded', 'ok'],
  ['/a\tb', '/ab', 'ok'],
  ['/%zz%', '/%zz%', 'ok'],
  ['/caf\xe9', '/caf%E9', 'ok'],
  ['/\xe2\x82\xac', '/%E2%82%AC', 'ok'],
  ['"/quoted"', '/dir/%22/quoted%22', 'ok'],
  ['http:/one-slash', '/one-slash', 'ok'],
  ['HTTP://OTHER.test/A', 'http://other.test/A', 'ok'],
  ['//other.test/x', 'http://other.test/x', 'ok'],
  ['\\\\other.test\\x', 'http://other.test/x', 'ok'],
  ['///other.test/x', 'http://other.test/x', 'ok'],
  ['http://other.test:80/', 'http://other.test/', 'ok'],
  ['http://other.test:22/', 'http://other.test:22/', 'port'],
  ['http://2130706433/', 'http://127.0.0.1/', 'address'],
  ['http://0x7f.1/', 'http://127.0.0.1/', 'address'],
  ['http://[::ffff:7f00:1]/', 'http://[::ffff:7f00:1]/', 'address'],
  ['http://169.254.169.254/latest', 'http://169.254.169.254/latest', 'address'],
  ['javascript:alert(1)', 'javascript:alert(1)', 'scheme'],
  ['data:text/html,x', 'data:text/html,x', 'scheme'],
  ['mailto:a@b.test', 'mailto:a@b.test', 'scheme'],
  ['file:///etc/passwd', 'file:///etc/passwd', 'scheme'],
  [`/${'a'.repeat(9_000)}`, `/${'a'.repeat(9_000)}`, 'too_long'],
];

describe('where a redirect leads', () => {
  test.each(LOCATIONS)('%j', async (location, to, verdict) => {
    const { redirectTo, outcome } = await fetched(
      answer('302 Found', [`Location: ${location}`]),
      '/dir/from?q',
    );
    expect(redirectTo).toBe(to.startsWith('/') ? server.origin + to : to);
    expect(outcome).toMatchObject({ class: 'served', source: 'destination', stop: null });
    const closed = createFetchPage({
      addresses: { extraPorts: [server.port], allowedNetworks: [] },
      userAgent: 'x',
    });
    const judged = checkUrl((redirectTo ?? '').replace(server.origin, 'http://site.test'), closed.guard);
    closed.close();
    expect(judged.kind === 'ok' ? 'ok' : judged.rule).toBe(verdict);
  });

  test.each([
    'http://',
    '//',
    'http://[::bad',
    'http://host:99999/',
    'http://user:pass@other.test/',
    'https://u@x.test',
  ])('%j is nowhere to go, and the host has answered', async (location) => {
    const got = await fetched(answer('302 Found', [`Location: ${location}`]));
    expect(got).toMatchObject({
      outcome: { class: 'served', source: 'destination', stop: 'invalid_url' },
      redirectTo: null,
    });
    expect(JSON.stringify({ ...got, headers: {} })).not.toContain('pass');
  });

  test('of several targets the first counts', async () => {
    const got = await fetched(answer('302 Found', ['Location: /a', 'Location: /b']));
    expect(got.redirectTo).toBe(`${server.origin}/a`);
  });
});
