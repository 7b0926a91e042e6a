import { Redis } from 'ioredis';
import { startLocalRedis, type LocalRedis } from '@holdoff/service-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import type { PageExchange } from '../fetch-page.ts';
import { LOOPBACK_OPEN, pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer, type Say } from '../testing/raw-server.ts';
import { workerKeys } from '../worker-keys.ts';
import { RobotsBook, robotsRequest, ROBOTS_DEFAULTS, type RobotsVerdict } from './robots-book.ts';

let store: LocalRedis;
let redis: Redis;
let fetcher: PageFetcher;
let server: RawServer;
let say: Say;
let clockMs = 0;
const keys = workerKeys('robots-test');

beforeAll(async () => {
  store = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(store.url);
  fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test' });
  server = await rawServer((socket, head, turn) => say(socket, head, turn));
});
afterAll(async () => {
  fetcher.close();
  await server.close();
  redis.disconnect();
  await store.stop();
});
beforeEach(async () => {
  await redis.flushall();
  server.heads.length = 0;
});

const book = (): RobotsBook =>
  new RobotsBook({ ...ROBOTS_DEFAULTS, productToken: 'Holdoff', redis, keys, monotonicMs: () => clockMs });

/** Does what the worker does: checks, and fetches where it is told to, up to `requestsMax` times. */
async function settle(robots: RobotsBook, url: string, requestsMax = 10): Promise<RobotsVerdict> {
  let verdict = await robots.check(url, null, 0, 'w1');
  let ask = verdict.kind === 'fetch' ? verdict.ask : null;
  for (let sent = 0; ask !== null && sent < requestsMax; sent += 1) {
    ask = await robots.learn(ask, await fetcher.fetchPage(robotsRequest(ask, pageRequest(ask.url))));
  }
  if (verdict.kind === 'fetch') verdict = await robots.check(url, null, 0, 'w1');
  return verdict;
}

const text =
  (body: string): Say =>
  (socket) =>
    socket.write(answer('200 OK', ['Content-Type: text/plain'], body));
const status =
  (line: string): Say =>
  (socket) =>
    socket.write(answer(line, []));

describe('what an answer to robots.txt means', () => {
  test.each<[string, () => Say, Partial<RobotsVerdict>]>([
    ['rules that forbid', () => text('User-agent: *\nDisallow: /a'), { kind: 'disallowed' }],
    [
      'rules that do not',
      () => text('User-agent: *\nDisallow: /b\nCrawl-delay: 3'),
      { kind: 'allowed', crawlDelaySeconds: 3 },
    ],
    ['404', () => status('404 Not Found'), { kind: 'allowed', by: 'absent' }],
    ['403', () => status('403 Forbidden'), { kind: 'allowed', by: 'absent' }],
    ['410', () => status('410 Gone'), { kind: 'allowed', by: 'absent' }],
    ['429, which says when to ask again', () => status('429 Too Many Requests'), { kind: 'fetch' }],
    ['500', () => status('500 Oops'), { kind: 'pending' }],
    ['503', () => status('503 Service Unavailable'), { kind: 'pending' }],
    ['a reset', () => (socket) => socket.resetAndDestroy(), { kind: 'pending' }],
    [
      'an unknown coding',
      () => (socket) => socket.write(answer('200 OK', ['Content-Encoding: evil'], 'x')),
      { kind: 'pending' },
    ],
    ['a page of HTML', () => text('<html>Disallow: /</html>'), { kind: 'allowed', by: 'rules' }],
    ['nothing', () => text(''), { kind: 'allowed', by: 'rules' }],
  ])('%s', async (_, how, expected) => {
    say = how();
    expect(await settle(book(), `${server.origin}/a`)).toMatchObject(expected);
    expect(server.requestLines.at(-1)).toBe('GET /robots.txt HTTP/1.1');
  });

  test('a file of 5 MB binds us with its first 500 KiB', async () => {
    say = text(`User-agent: *\nDisallow: /a\n${'# filler filler filler\n'.repeat(220_000)}`);
    expect(await settle(book(), `${server.origin}/a`)).toMatchObject({ kind: 'disallowed' });
  });

  test.each([
    { redirects: 5, expected: { kind: 'disallowed' } },
    { redirects: 6, expected: { kind: 'allowed', by: 'absent' } },
  ])('$redirects redirects', async ({ redirects, expected }) => {
    say = (socket, head) => {
      const step = Number(/GET \/(?:robots\.txt|step(\d+))/u.exec(head)?.[1] ?? 0);
      if (step < redirects) socket.write(answer('302 Found', [`Location: /step${step + 1}`]));
      else text('User-agent: *\nDisallow: /')(socket, head, 0);
    };
    expect(await settle(book(), `${server.origin}/a`)).toMatchObject(expected);
  });

  test('a file that fails is asked for again after growing pauses, and five times at most', async () => {
    say = status('500 Oops');
    const robots = book();
    const pausesMs: number[] = [];
    for (let tries = 1; tries <= 5; tries += 1) {
      await settle(robots, `${server.origin}/a`);
      pausesMs.push(await redis.pttl(keys.robotsClaim(server.origin)));
      await redis.del(keys.robotsClaim(server.origin));
    }
    for (const [index, pauseMs] of pausesMs.entries()) {
      expect(pauseMs).toBeGreaterThan(900 * 2 ** index);
      expect(pauseMs).toBeLessThanOrEqual(1_000 * 2 ** index);
    }
    expect(await robots.check(`${server.origin}/a`, null, 0, 'w1')).toMatchObject({
      kind: 'disallowed',
      detail: expect.stringContaining('cannot be read'),
    });
    expect(server.heads).toHaveLength(5);
  });

  test('a host that cannot be asked at all is left to the page, which says why', async () => {
    const robots = book();
    const refused = `http://10.0.0.1/a`;
    const verdict = await robots.check(refused, null, 0, 'w1');
    const ask = verdict.kind === 'fetch' ? verdict.ask : null;
    expect(ask).not.toBeNull();
    if (ask !== null)
      await robots.learn(ask, await fetcher.fetchPage(robotsRequest(ask, pageRequest(ask.url))));
    expect(await robots.check(refused, null, 0, 'w1')).toMatchObject({ kind: 'allowed' });
    expect(await redis.keys('*')).toEqual([]);
  });

  test('an attempt that we cut off, or a proxy that failed, says nothing', async () => {
    const robots = book();
    const verdict = await robots.check(`${server.origin}/a`, null, 0, 'w1');
    const cut: PageExchange = {
      outcome: { class: 'neutral', source: 'client', stop: null, detail: 'cancelled' },
      status: 0,
      headers: {},
      receivedAtMs: 0,
      body: new Uint8Array(),
      bodyState: 'none',
      wireBytes: 0,
      latencyMs: 0,
      durationMs: 0,
      redirectTo: null,
      sent: true,
    };
    if (verdict.kind === 'fetch') await robots.learn(verdict.ask, cut);
    expect(await redis.keys('*')).toEqual([]);
    const proxied = { ...cut, status: 502, outcome: { ...cut.outcome, source: 'proxy' as const } };
    if (verdict.kind === 'fetch') await robots.learn(verdict.ask, proxied);
    expect(await redis.keys('*')).toEqual([]);
  });
});

describe('the fleet', () => {
  test('asks once: others wait for the one that asks, and then know', async () => {
    say = text('User-agent: *\nDisallow: /a');
    const [one, two] = [book(), book()];
    const first = await one.check(`${server.origin}/a`, null, 0, 'w1');
    expect(first.kind).toBe('fetch');
    expect((await two.check(`${server.origin}/b`, null, 0, 'w2')).kind).toBe('pending');
    if (first.kind === 'fetch') {
      await one.learn(
        first.ask,
        await fetcher.fetchPage(robotsRequest(first.ask, pageRequest(first.ask.url))),
      );
    }
    expect((await two.check(`${server.origin}/a`, null, 0, 'w2')).kind).toBe('disallowed');
    expect(server.heads).toHaveLength(1);
  });

  test('a worker that dies while asking holds nobody up for longer than its claim', async () => {
    await book().check(`${server.origin}/a`, null, 0, 'w1');
    const leftMs = await redis.pttl(keys.robotsClaim(server.origin));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(ROBOTS_DEFAULTS.claimMs);
  });

  test('rules end after 24 hours at most, an unreachable file stops its origin for a bounded time', async () => {
    say = text('User-agent: *\nDisallow: /a');
    await settle(book(), `${server.origin}/a`);
    expect(await redis.pttl(keys.robots(server.origin, 'Holdoff'))).toBeLessThanOrEqual(86_400_000);
    await redis.flushall();
    say = status('500 Oops');
    await settle(book(), `${server.origin}/a`);
    const leftMs = await redis.pttl(keys.robots(server.origin, 'Holdoff'));
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(ROBOTS_DEFAULTS.retryMs);
    expect(
      () =>
        new RobotsBook({
          ...ROBOTS_DEFAULTS,
          productToken: 'Holdoff',
          redis,
          keys,
          keepMs: 86_400_001,
          monotonicMs: () => 0,
        }),
    ).toThrow('24 hours');
  });

  test('memory spares Redis for a minute, not longer', async () => {
    say = text('User-agent: *\nDisallow: /a');
    const robots = book();
    await settle(robots, `${server.origin}/a`);
    await redis.set(keys.robots(server.origin, 'Holdoff'), JSON.stringify({ kind: 'absent', status: 404 }));
    expect((await robots.check(`${server.origin}/a`, null, 0, 'w1')).kind).toBe('disallowed');
    clockMs += 60_001;
    expect((await robots.check(`${server.origin}/a`, null, 0, 'w1')).kind).toBe('allowed');
  });

  test('a claim that somebody else has by now is neither ended nor prolonged', async () => {
    const verdict = await book().check(`${server.origin}/a`, null, 0, 'w1');
    if (verdict.kind !== 'fetch') throw new Error(verdict.kind);
    await redis.set(keys.robotsClaim(server.origin), 'another', 'PX', 5_000);
    await book().giveUp(verdict.ask);
    await book().keepClaim(verdict.ask, 3_600_000);
    await book().learnRefused(verdict.ask, 'a private address');
    expect(await redis.get(keys.robotsClaim(server.origin))).toBe('another');
    expect(await redis.pttl(keys.robotsClaim(server.origin))).toBeLessThanOrEqual(5_000);
  });

  test('a claim lasts as long as its request may take', async () => {
    const verdict = await book().check(`${server.origin}/a`, null, 0, 'w1');
    if (verdict.kind !== 'fetch') throw new Error(verdict.kind);
    await book().keepClaim(verdict.ask, 3_600_000);
    expect(await redis.pttl(keys.robotsClaim(server.origin))).toBeGreaterThan(3_600_000);
  });

  test('what is known under one name says nothing under another', async () => {
    say = text('User-agent: AcmeBot\nDisallow: /');
    await settle(book(), `${server.origin}/a`);
    const acme = new RobotsBook({
      ...ROBOTS_DEFAULTS,
      productToken: 'AcmeBot',
      redis,
      keys,
      monotonicMs: () => clockMs,
    });
    expect((await settle(book(), `${server.origin}/a`)).kind).toBe('allowed');
    expect((await settle(acme, `${server.origin}/a`)).kind).toBe('disallowed');
  });

  test('a record that cannot be read is fetched again', async () => {
    for (const broken of ['', 'null', '{"kind":"rules","rules":7}', '{"kind":"other"}']) {
      await redis.flushall();
      await redis.set(keys.robots(server.origin, 'Holdoff'), broken);
      expect((await book().check(`${server.origin}/a`, null, 0, 'w1')).kind).toBe('fetch');
    }
  });

  test('http, https and ports have a file of their own', async () => {
    const asks = await Promise.all(
      ['http://a.test/x', 'https://a.test/x', 'http://a.test:8080/x'].map((url) =>
        book().check(url, null, 0, 'w'),
      ),
    );
    expect(asks.map((verdict) => (verdict.kind === 'fetch' ? verdict.ask.url : verdict.kind))).toEqual([
      'http://a.test/robots.txt',
      'https://a.test/robots.txt',
      'http://a.test:8080/robots.txt',
    ]);
  });
});

test("an owner's permission overrides until it ends", async () => {
  say = text('User-agent: *\nDisallow: /');
  const override = { reason: 'agreement of 2026-11-01 with the shop', untilMs: 1_000 };
  const robots = book();
  expect(await robots.check(`${server.origin}/a`, override, 999, 'w1')).toMatchObject({
    kind: 'allowed',
    by: 'override',
  });
  expect(server.heads).toHaveLength(0);
  expect((await robots.check(`${server.origin}/a`, override, 1_000, 'w1')).kind).toBe('fetch');
});
