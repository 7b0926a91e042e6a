import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from './create-fetch-page.ts';
import { LOOPBACK_OPEN, pageRequest } from './testing/page-request.ts';
import { answer, type RawServer, rawServer, type Say } from './testing/raw-server.ts';

let fetcher: PageFetcher;
let servers: RawServer[] = [];
const serve = async (say: Say): Promise<RawServer> => {
  const server = await rawServer(say);
  servers.push(server);
  return server;
};

beforeEach(() => {
  fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test (+https://example.org)' });
});
afterEach(async () => {
  fetcher.close();
  await Promise.all(servers.map((server) => server.close()));
  servers = [];
});

describe('an ordinary exchange', () => {
  test('returns the decoded page, its headers line by line, and reuses the socket', async () => {
    const server = await serve((socket) => {
      socket.write(
        answer(
          '200 OK',
          ['Content-Type: text/html', 'Content-Encoding: gzip', 'Retry-After: 1', 'Retry-After: 2'],
          gzipSync('<p>hello</p>'),
        ),
      );
    });
    for (let turn = 0; turn < 3; turn += 1) {
      const page = await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
      expect(page).toMatchObject({
        outcome: { class: 'served', source: 'destination', stop: null },
        status: 200,
        bodyState: 'complete',
        redirectTo: null,
        sent: true,
      });
      expect(Buffer.from(page.body).toString()).toBe('<p>hello</p>');
      expect(page.headers['retry-after']).toEqual(['1', '2']);
      expect(Math.abs(page.receivedAtMs - Date.now())).toBeLessThan(3_000);
    }
    expect(server.accepted()).toBe(1);
    expect(server.heads[0]?.toLowerCase()).toContain('user-agent: holdoff/test (+https://example.org)');
    expect(server.heads[0]?.toLowerCase()).toContain('accept-encoding: gzip, deflate, br, zstd');
  });

  test.each([
    ['GET', '429 Too Many Requests', { class: 'throttled', stop: null }],
    ['GET', '503 Service Unavailable', { class: 'unavailable', stop: null }],
    ['GET', '404 Not Found', { class: 'permanent', stop: 'permanent' }],
    ['GET', '403 Forbidden', { class: 'throttled', stop: null }],
    ['GET', '401 Unauthorized', { class: 'blocked', stop: 'blocked' }],
  ] as const)('%s answered %s', async (method, status, outcome) => {
    const server = await serve((socket) => socket.write(answer(status, ['Retry-After: 7'], 'body')));
    const page = await fetcher.fetchPage(pageRequest(`${server.origin}/`, { method }));
    expect(page).toMatchObject({ outcome, bodyState: 'none', headers: { 'retry-after': ['7'] } });
    expect(page.body).toHaveLength(0);
    await fetcher.fetchPage(pageRequest(`${server.origin}/`, { method }));
    expect(server.accepted()).toBe(1);
  });
});

test('a host outside the open networks is never connected to', async () => {
  const server = await serve((socket) => socket.write(answer('200 OK', [])));
  const guarded = createFetchPage({
    addresses: { extraPorts: [server.port], allowedNetworks: [] },
    userAgent: 'x',
  });
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const page = await guarded.fetchPage(pageRequest(`http://${host}:${server.port}/`));
    expect(page).toMatchObject({ outcome: { stop: 'address_not_allowed', source: 'client' }, sent: false });
  }
  expect(server.accepted()).toBe(0);
  guarded.close();
});
