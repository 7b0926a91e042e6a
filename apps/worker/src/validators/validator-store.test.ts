import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import type { PageExchange } from '../fetch-page.ts';
import { LOOPBACK_OPEN, pageRequest, TEST_BODY } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer } from '../testing/raw-server.ts';
import { workerKeys } from '../worker-keys.ts';
import { ValidatorStore } from './validator-store.ts';

let local: LocalRedis;
let redis: Redis;
let fetcher: PageFetcher;
let server: RawServer;
let headers: readonly string[] = [];

beforeAll(async () => {
  local = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(local.url);
  fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test' });
  // Answers 304 to whoever brings what it gave out.
  server = await rawServer((socket, head) => {
    const given = headers.map((line) => line.slice(line.indexOf(':') + 2));
    const known = /^if-(?:none-match|modified-since): (.*)$/imu.exec(head)?.[1];
    const same = known !== undefined && given.includes(known);
    socket.write(same ? 'HTTP/1.1 304 Not Modified\r\n\r\n' : answer('200 OK', headers, 'page'));
  });
});
afterAll(async () => {
  fetcher.close();
  await server.close();
  redis.disconnect();
  await local.stop();
});
beforeEach(() => redis.flushall());

const store = (): ValidatorStore => new ValidatorStore(redis, workerKeys('validators-test'));

async function visit(path: string, headersRef: string | null = null): Promise<PageExchange> {
  const url = `${server.origin}${path}`;
  const page = await fetcher.fetchPage(
    pageRequest(url, { headers: await store().conditionalHeaders(url, headersRef) }),
  );
  await store().delivered(url, headersRef, page);
  return page;
}

test.each([['ETag: "v1"'], ['ETag: W/"v1"'], ['Last-Modified: Mon, 30 Nov 2026 10:00:00 GMT']])(
  'a page with %s is 304 and free in the next run, and in the one after',
  async (line) => {
    headers = [line];
    expect(await visit('/a')).toMatchObject({ status: 200, bodyState: 'complete' });
    for (let run = 0; run < 2; run += 1) {
      const again = await visit('/a');
      expect(again).toMatchObject({
        status: 304,
        outcome: { class: 'served', stop: null },
        bodyState: 'none',
      });
      expect(again.wireBytes).toBeLessThan(100);
    }
  },
);

test('another page, or the same one for another header set, is asked for whole', async () => {
  headers = ['ETag: "v1"'];
  await visit('/a');
  expect((await visit('/b')).status).toBe(200);
  expect((await visit('/a', 'customer-2')).status).toBe(200);
});

test('a new version takes the place of the old one', async () => {
  headers = ['ETag: "v1"'];
  await visit('/a');
  headers = ['ETag: "v2"'];
  expect((await visit('/a')).status).toBe(200);
  expect((await visit('/a')).status).toBe(304);
  headers = [];
  expect((await visit('/a')).status).toBe(200);
  expect(await redis.keys('*')).toEqual([]);
});

test.each([
  ['two that differ', ['ETag: "a"', 'ETag: "b"']],
  ['one without quotes', ['ETag: a']],
  ['one that is too long', [`ETag: "${'x'.repeat(2_000)}"`]],
  ['none', []],
])('a page with %s is not remembered', async (_, lines) => {
  headers = lines;
  await visit('/a');
  expect(await redis.keys('*')).toEqual([]);
});

test('what was not delivered, not whole, not wanted or not a page is not remembered', async () => {
  headers = ['ETag: "v1"'];
  const url = `${server.origin}/a`;
  const page = await fetcher.fetchPage(pageRequest(url));
  expect(await store().conditionalHeaders(url, null)).toEqual({});
  await store().delivered(url, null, { ...page, status: 404 });
  await store().delivered(url, null, { ...page, bodyState: 'truncated' });
  await store().delivered(url, null, await fetcher.fetchPage(pageRequest(url, { method: 'HEAD' })));
  const body = { ...TEST_BODY, contentTypes: ['image/png'] };
  await store().delivered(url, null, await fetcher.fetchPage(pageRequest(url, { body })));
  expect(await store().conditionalHeaders(url, null)).toEqual({});
});

test('what Redis holds is bounded in size and time, and a spoilt entry is no entry', async () => {
  headers = ['ETag: "v1"'];
  await visit('/a');
  const [key] = await redis.keys('*');
  expect(await redis.pttl(key ?? '')).toBeGreaterThan(29 * 86_400_000);
  expect(await redis.strlen(key ?? '')).toBeLessThan(100);
  await redis.set(key ?? '', '{"etag":7}');
  expect(await store().conditionalHeaders(`${server.origin}/a`, null)).toEqual({});
});
