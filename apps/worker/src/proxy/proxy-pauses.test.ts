import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { PageExchange } from '../fetch-page.ts';
import { workerKeys } from '../worker-keys.ts';
import { ProxyPauses } from './proxy-pauses.ts';

let local: LocalRedis;
let redis: Redis;
let clockMs = 0;
beforeAll(async () => {
  local = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(local.url);
});
afterAll(async () => {
  redis.disconnect();
  await local.stop();
});
beforeEach(() => redis.flushall());

const exit = { proxy: 'p1', session: null };
const keys = workerKeys('pauses-test');
const pauses = (): ProxyPauses => new ProxyPauses(redis, keys, () => (clockMs += 1_000));

function exchange(source: 'client' | 'proxy' | 'destination', retryAfter?: string): PageExchange {
  return {
    outcome: { class: 'neutral', source, stop: null, detail: 'proxy p1: 502' },
    status: 0,
    headers: {},
    receivedAtMs: 0,
    body: new Uint8Array(),
    bodyState: 'none',
    wireBytes: 0,
    latencyMs: 0,
    durationMs: 0,
    redirectTo: null,
    sent: false,
    proxyAnswer:
      retryAfter === undefined
        ? null
        : { status: 429, headers: { 'retry-after': [retryAfter] }, receivedAtMs: Date.now() },
  };
}

const fail = async (of: ProxyPauses, times: number, ...rest: [string?]): Promise<void> => {
  for (let i = 0; i < times; i += 1) await of.record(exit, exchange('proxy', ...rest));
};

test('five failures in a row pause the proxy for the whole fleet, and longer with each further one', async () => {
  const [one, two] = [pauses(), pauses()];
  await fail(one, 4);
  expect(await two.pausedForMs(exit)).toBe(0);
  await fail(one, 1);
  expect(await two.pausedForMs(exit)).toBeGreaterThan(25_000);
  expect(await two.pausedForMs(exit)).toBeLessThanOrEqual(30_000);
  await fail(one, 1);
  expect(await two.pausedForMs(exit)).toBeGreaterThan(50_000);
  await fail(one, 20);
  expect(await two.pausedForMs(exit)).toBeLessThanOrEqual(600_000);
});

test('other proxies go on', async () => {
  await fail(pauses(), 5);
  expect(await pauses().pausedForMs({ proxy: 'p2', session: null })).toBe(0);
});

test('a request that comes through ends the row; what we refused ourselves says nothing', async () => {
  const proxy = pauses();
  await fail(proxy, 4);
  await proxy.record(exit, exchange('client'));
  await fail(proxy, 1);
  expect(await proxy.pausedForMs(exit)).toBeGreaterThan(0);
  await redis.flushall();
  await proxy.record(exit, exchange('destination'));
  await fail(proxy, 4);
  expect(await proxy.pausedForMs(exit)).toBe(0);
});

test('a wait that the proxy asks for is kept at once, and a shorter one takes nothing away', async () => {
  const proxy = pauses();
  await fail(proxy, 1, '120');
  await fail(proxy, 1, '5');
  expect(await proxy.pausedForMs(exit)).toBeGreaterThan(115_000);
});
