import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import { LOOPBACK_OPEN, pageRequest, TEST_BODY } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer, type Say } from '../testing/raw-server.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

async function stage(say: Say): Promise<{ fetcher: PageFetcher; server: RawServer }> {
  const fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test' });
  const server = await rawServer(say);
  open.push(fetcher, server);
  return { fetcher, server };
}

describe('whether the body is whole', () => {
  test.each<[string, string, 'complete' | 'unknown']>([
    ['with a length', 'Content-Length: 4\r\n\r\npage', 'complete'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n', 'complete'],
    ['up to the end of the connection', '\r\npage', 'unknown'],
  ])('%s: %s', async (_, rest, state) => {
    const { fetcher, server } = await stage((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`));
    expect(page).toMatchObject({ bodyState: state, outcome: { class: 'served', stop: null } });
    expect(Buffer.from(page.body).toString()).toBe('page');
  });

  test.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Encoding: gzip\r\n\r\n'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 1000\r\n\r\n'],
    ['GET', 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n'],
  ] as const)('%s without a body: %j', async (method, head) => {
    const { fetcher, server } = await stage((socket) => socket.write(head));
    for (let turn = 0; turn < 2; turn += 1) {
      const headers = { 'if-none-match': '"a"' };
      const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`, { method, headers }));
      expect(page.outcome).toMatchObject({ class: 'served', stop: null });
      expect(page.body).toHaveLength(0);
    }
    expect(server.accepted()).toBe(1);
  });
});

describe('content types are judged before the body', () => {
  const body = { ...TEST_BODY, contentTypes: ['text/*', 'application/xhtml+xml'] };
  test.each<[readonly string[], 'bad_content' | null]>([
    [['Content-Type: text/html; charset=utf-8'], null],
    [['Content-Type: TEXT/HTML'], null],
    [['Content-Type: application/xhtml+xml'], null],
    [['Content-Type: image/png'], 'bad_content'],
    [['Content-Type: textual/html'], 'bad_content'],
    [['Content-Type: text/html', 'Content-Type: image/png'], 'bad_content'],
    [['Content-Type:'], 'bad_content'],
    [[], 'bad_content'],
  ])('%j', async (lines, stop) => {
    const { fetcher, server } = await stage((socket) => socket.write(answer('200 OK', lines, 'page')));
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`, { body }));
    expect(page.outcome.stop).toBe(stop);
    expect(page.body).toHaveLength(stop === null ? 4 : 0);
  });
});

describe('the body of a refusal tells what kind it is', () => {
  const challenge = `<html><script src="/cdn-cgi/challenge-platform/h/b/x.js"></script>${'x'.repeat(9_000)}</html>`;
  test.each<[string, readonly string[], string | Buffer, object]>([
    ['403 Forbidden', [], 'You shall not pass', { class: 'blocked', stop: 'blocked' }],
    ['403 Forbidden', [], 'You have been rate limited', { class: 'throttled', stop: null }],
    ['403 Forbidden', [], challenge, { class: 'blocked', stop: 'blocked' }],
    ['503 Service Unavailable', [], challenge, { class: 'blocked', stop: 'blocked' }],
    ['503 Service Unavailable', ['Content-Encoding: gzip'], gzipSync(challenge), { class: 'blocked' }],
    ['503 Service Unavailable', ['Content-Encoding: evil'], challenge, { class: 'unavailable' }],
    ['503 Service Unavailable', ['Content-Encoding: gzip'], 'no gzip', { class: 'unavailable' }],
    ['503 Service Unavailable', [], 'back soon', { class: 'unavailable', stop: null }],
    ['429 Too Many Requests', [], challenge, { class: 'blocked' }],
    ['429 Too Many Requests', [], `${challenge}${'x'.repeat(5_000_000)}`, { class: 'blocked' }],
    ['429 Too Many Requests', ['Retry-After: 5'], challenge, { class: 'throttled', stop: null }],
    ['404 Not Found', [], challenge, { class: 'permanent', stop: 'permanent' }],
  ])('%s %j %#', async (status, lines, body, outcome) => {
    const { fetcher, server } = await stage((socket) => socket.write(answer(status, lines, body)));
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`));
    expect(page).toMatchObject({ outcome: { ...outcome, source: 'destination' }, bodyState: 'none' });
    expect(page.body).toHaveLength(0);
  });
});

describe('headers', () => {
  test('a line after thousands of others is seen', async () => {
    const filler = Array.from({ length: 3_500 }, (_, i) => `a: ${i % 10}`);
    const { fetcher, server } = await stage((socket) =>
      socket.write(answer('429 Too Many Requests', [...filler, 'Retry-After: 77'])),
    );
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`));
    expect(page.headers['retry-after']).toEqual(['77']);
    expect(page.headers['a']).toHaveLength(3_500);
  });

  test('a header named like a part of every object is only a header', async () => {
    const { fetcher, server } = await stage((socket) =>
      socket.write(answer('200 OK', ['__proto__: x', 'constructor: y', 'hasOwnProperty: z'])),
    );
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`));
    expect(page.headers['__proto__']).toEqual(['x']);
    expect(page.headers['constructor']).toEqual(['y']);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  test('cookies that a server sets are sent to nobody', async () => {
    const { fetcher, server } = await stage((socket) =>
      socket.write(answer('200 OK', ['Set-Cookie: id=1; Path=/'])),
    );
    await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
    await fetcher.fetchPage(pageRequest(`${server.origin}/b`));
    expect(server.heads.join('\n').toLowerCase()).not.toContain('cookie:');
  });

  test('a header value that would split the request is refused unsent', async () => {
    const { fetcher, server } = await stage((socket) => socket.write(answer('200 OK', [])));
    const page = await fetcher.fetchPage(
      pageRequest(`${server.origin}/`, { headers: { x: 'a\r\nHost: evil' } }),
    );
    expect(page).toMatchObject({ outcome: { class: 'neutral', source: 'client' }, sent: false });
    expect(server.heads).toEqual([]);
  });
});

describe('ending early', () => {
  test('a signal ends the request at once, before and during it', async () => {
    const { fetcher, server } = await stage(() => undefined);
    const controller = new AbortController();
    const waiting = fetcher.fetchPage(pageRequest(`${server.origin}/`, { signal: controller.signal }));
    await expect.poll(() => server.heads.length, { timeout: 5_000 }).toBe(1);
    controller.abort(new Error('a reason of the caller'));
    expect(await waiting).toMatchObject({
      outcome: { class: 'neutral', stop: null, source: 'client' },
      sent: true,
    });
    const late = await fetcher.fetchPage(pageRequest(`${server.origin}/`, { signal: controller.signal }));
    expect(late).toMatchObject({ outcome: { class: 'neutral' }, sent: false });
    expect(server.heads).toHaveLength(1);
    await expect.poll(() => server.open(), { timeout: 5_000 }).toBe(0);
  });

  test('no budget left: nothing is sent', async () => {
    const { fetcher, server } = await stage((socket) => socket.write(answer('200 OK', [])));
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`, { budgetMs: 0 }));
    expect(page).toMatchObject({ outcome: { class: 'transport' }, sent: false });
    expect(server.heads).toEqual([]);
  });

  test('nobody listens: certain not to have been sent', async () => {
    const { fetcher, server } = await stage(() => undefined);
    await server.close();
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`));
    open.splice(open.indexOf(server), 1);
    expect(page).toMatchObject({
      outcome: { class: 'transport', detail: 'connection refused (ECONNREFUSED) while connecting' },
      sent: false,
    });
  });

  test('an over-long body can be cut instead of refused', async () => {
    const text = 'User-agent: *\nDisallow: /x\n'.repeat(200_000);
    const { fetcher, server } = await stage((socket, head) =>
      socket.write(
        head.includes('/gzip')
          ? answer('200 OK', ['Content-Encoding: gzip'], gzipSync(text))
          : answer('200 OK', [], text),
      ),
    );
    const body = { ...TEST_BODY, decodedBytesMax: 1_000, ratioMax: 1e9 };
    for (const path of ['plain', 'gzip']) {
      const page = await fetcher.fetchPage(
        pageRequest(`${server.origin}/${path}`, { body, overflow: 'cut' }),
      );
      expect(page).toMatchObject({ outcome: { class: 'served', stop: null }, bodyState: 'truncated' });
      expect(Buffer.from(page.body).toString()).toBe(text.slice(0, 1_000));
    }
    // The compressed answer came whole, so its socket may wait for the next request; the other is closed.
    await expect.poll(() => server.open(), { timeout: 5_000 }).toBeLessThanOrEqual(1);
  });
});

describe('redirects are told, not followed', () => {
  test.each<[string, string, string | null]>([
    ['302 Found', '/next?a=1#frag', '/next?a=1'],
    ['301 Moved Permanently', '//other.test/x', 'http://other.test/x'],
    ['307 Temporary Redirect', '/caf\u00e9', '/caf%E9'],
    ['308 Permanent Redirect', '/va\u00ef\u00bf\u00bdr', '/va%EF%BF%BDr'],
    ['303 See Other', '/%7Ea b', '/%7Ea%20b'],
    ['302 Found', '', null],
    ['304 Not Modified', '/next', null],
    ['300 Multiple Choices', '/next', null],
    ['200 OK', '/next', null],
  ])('%s to %j', async (status, location, expected) => {
    const { fetcher, server } = await stage((socket) =>
      socket.write(answer(status, [`Location: ${location}`])),
    );
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/from`));
    const url = expected?.startsWith('/') === true ? server.origin + expected : expected;
    expect(page.redirectTo).toBe(url);
    expect(server.heads).toHaveLength(1);
  });
});
