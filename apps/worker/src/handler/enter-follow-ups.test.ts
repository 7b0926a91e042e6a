import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import type { UrlJob } from '@holdoff/url-job';
import { DeliveryFault } from '../deliver-result.ts';
import { enterFollowUps, type FollowUps } from './enter-follow-ups.ts';

let server: LocalRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const job: UrlJob = {
  v: 1,
  url: 'https://a.test/list',
  batch: 'b',
  method: 'GET',
  priority: 7,
  notBeforeMs: null,
  deadlineMs: 1_768_478_400_000,
  headersRef: 'staff',
  enteredAtMs: 0,
  hop: null,
};
const follow = (links: readonly string[], perBatchMax = 100): Promise<FollowUps> =>
  enterFollowUps(
    { redis, inbox: 'inbox', followedKey: (batch) => `{t}:followed:${batch}`, perBatchMax },
    job,
    'https://a.test/moved/list',
    links,
  );
const entries = async (): Promise<Record<string, string>[]> =>
  (await redis.xrange('inbox', '-', '+')).map(([, fields]) =>
    Object.fromEntries(
      fields.flatMap((name, n) => (n % 2 === 0 ? [[name, fields[n + 1] ?? ''] as const] : [])),
    ),
  );

test('URLs go to the inbox with what their page had, relative ones from where it was found', async () => {
  expect(await follow(['https://a.test/1#top', 'two'])).toEqual({ taken: 2, refused: 0 });
  const same = { batch: 'b', priority: '7', deadline: '1768478400000', headers: 'staff' };
  expect(await entries()).toEqual([
    { url: 'https://a.test/1', ...same },
    { url: 'https://a.test/moved/two', ...same },
  ]);
});

test("another origin does not get the header set, which may be the first one's credentials", async () => {
  await follow(['https://b.test/', 'http://a.test/']);
  expect((await entries()).map(({ headers }) => headers)).toEqual([undefined, undefined]);
});

test('a URL is entered once for a batch, however many pages name it', async () => {
  expect(await follow(['/1', '/1', '/1#x', '/2'])).toEqual({ taken: 2, refused: 0 });
  expect(await follow(['/2', '/3'])).toEqual({ taken: 2, refused: 0 });
  expect((await entries()).map(({ url }) => url)).toEqual(
    ['/1', '/2', '/3'].map((path) => `https://a.test${path}`),
  );
});

test('what cannot be fetched is counted and never entered', async () => {
  const links = [
    'mailto:a@b.test',
    'javascript:alert(1)',
    'https://u:p@a.test/',
    'http://',
    'ftp://a.test/',
    '/ok',
  ];
  expect(await follow(links)).toEqual({ taken: 1, refused: 5 });
  expect(await entries()).toHaveLength(1);
});

test('a batch grows by what it may, and no more', async () => {
  expect(await follow(['/1', '/2'], 3)).toEqual({ taken: 2, refused: 0 });
  expect(await follow(['/2', '/3', '/4', '/5'], 3)).toEqual({ taken: 2, refused: 2 });
  expect(await entries()).toHaveLength(3);
});

test('a Redis that does not take them is a delivery fault, and they are entered the next time', async () => {
  await redis.config('SET', 'maxmemory', '1');
  try {
    await expect(follow(['/1'])).rejects.toBeInstanceOf(DeliveryFault);
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  expect(await follow(['/1'])).toEqual({ taken: 1, refused: 0 });
  expect(await entries()).toHaveLength(1);
});
