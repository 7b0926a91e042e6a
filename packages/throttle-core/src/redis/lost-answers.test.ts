import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { type CuttingProxy, startCuttingProxy } from '../testing/cutting-proxy.ts';
import { GateFixture, OPEN_BATCH } from '../testing/gate-fixture.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { connectGate, gateReady } from './connection.ts';
import { GateUnavailable } from './gate-unavailable.ts';
import { createRedisGate } from './redis-gate.ts';

let server: LocalRedis;
let proxy: CuttingProxy;
let redis: Redis;
let on: GateFixture;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: true });
  proxy = await startCuttingProxy(server.port);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});
beforeEach(async () => {
  redis = connectGate({ url: `redis://127.0.0.1:${proxy.port}`, commandDeadlineMs: 3000 });
  redis.on('error', () => undefined);
  await gateReady(redis, 10_000);
  await redis.flushall();
  const clock = new ManualClock();
  on = new GateFixture(createRedisGate({ redis, clock: clock.now }), clock);
});
afterEach(() => redis.disconnect());

const TOKENS = { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 5 } as const } };

describe('a gate whose answers get lost', () => {
  it('says so, and gives the lost admission when asked again', async () => {
    await on.enter([1], TOKENS);
    const request = on.admitRequest(1);
    proxy.cutNextAnswer();
    await expect(on.gate.admit(request)).rejects.toThrow(GateUnavailable);
    await gateReady(redis, 10_000);
    expect(await on.gate.admit(request)).toMatchObject({ kind: 'admitted', attempt: 1 });
    expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 1 });
    expect((await on.gate.inspectHost(on.host))?.leases).toHaveLength(1);
  });

  it('gives the lost settlement with its calls when asked again', async () => {
    await on.enter([1, 2, 3], TOKENS);
    const request = on.settleRequest(1, await on.admitted(1));
    proxy.cutNextAnswer();
    await expect(on.gate.settle(request)).rejects.toMatchObject({ code: 'GATE_UNAVAILABLE' });
    await gateReady(redis, 10_000);
    expect(await on.gate.settle(request)).toMatchObject({ kind: 'settled', call: [on.job(3)] });
    expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ jobs: { done: 1 }, requests: 1 });
  });

  it('tops a batch up once when the answer to the top-up was lost', async () => {
    await on.enter([1], TOKENS);
    proxy.cutNextAnswer();
    await expect(on.gate.topUpBatch(on.batch, 3, 'n')).rejects.toThrow(GateUnavailable);
    await gateReady(redis, 10_000);
    expect(await on.gate.topUpBatch(on.batch, 3, 'n')).toMatchObject({ tokens: { total: 8 } });
  });
});

describe('a gate whose Redis is away', () => {
  it('refuses at once instead of queueing, and goes on by itself with what was kept', async () => {
    await on.enter([1], TOKENS);
    const admission = await on.admitted(1);
    await server.kill();
    const began = performance.now();
    await expect(on.admit(1, { delivery: 2 })).rejects.toThrow(GateUnavailable);
    await expect(on.gate.inspectHost(on.host)).rejects.toThrow(GateUnavailable);
    expect(performance.now() - began).toBeLessThan(3500);
    await server.restart();
    await gateReady(redis, 10_000);
    expect(await on.settle(1, admission)).toMatchObject({ kind: 'settled' });
  });

  it('does not mistake its own faults for an outage', async () => {
    await redis.set('{holdoff}:leases:site.example', 'not a sorted set');
    await on.enter([1], TOKENS).catch(() => undefined);
    await expect(on.admit(1)).rejects.not.toThrow(GateUnavailable);
  });
});

describe('a server that lost its scripts', () => {
  it('is given them again, and nothing is done twice', async () => {
    await on.enter([1], TOKENS);
    await redis.script('FLUSH');
    const admission = await on.admitted(1);
    await redis.script('FLUSH');
    expect(await on.settle(1, admission)).toMatchObject({ kind: 'settled' });
    expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 1, jobs: { total: 1, done: 1 } });
  });
});
