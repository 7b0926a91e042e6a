import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Redis } from 'ioredis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { GateFixture } from '../testing/gate-fixture.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { connectGate, gateReady } from './connection.ts';
import { createRedisGate } from './redis-gate.ts';

let server: LocalRedis;
let redis: Redis;
let on: GateFixture;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: true });
  redis = connectGate({ url: server.url, commandDeadlineMs: 3000 });
  redis.on('error', () => undefined);
  await gateReady(redis, 10_000);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await redis.flushall();
  const clock = new ManualClock();
  on = new GateFixture(createRedisGate({ redis, clock: clock.now }), clock);
});

const DAY_MS = 86_400_000;

it('gives jobs that come after the counter of ages was lost their place behind those that wait', async () => {
  await on.gate.hold(on.host, 'by hand', 'me');
  await on.enter([1, 2, 3]);
  await redis.del('{holdoff}:sequence');
  on.clock.advance(1_000);
  await on.enter([4, 5]);
  expect(await on.gate.listLane(on.host, 0, 10)).toEqual([1, 2, 3, 4, 5].map((n) => on.job(n)));
});

it('knows a host again that its index has lost, once its lane is looked at', async () => {
  await on.enter([1, 2, 3, 4]);
  await redis.del('{holdoff}:hosts');
  on.clock.advance(5_000);
  await on.gate.wake({ hostsMax: 10, jobsMax: 10 });
  expect((await on.gate.listHosts('', 10)).hosts).toEqual([on.host]);
});

it('knows a host and a batch without waiting jobs again after a few admissions', async () => {
  await redis.del('{holdoff}:hosts');
  for (let number = 1; number <= 20; number += 1) {
    await on.enter([number]);
    if (number === 2) await redis.del('{holdoff}:hosts', '{holdoff}:batches');
    await on.settle(number, await on.admitted(number));
  }
  expect((await on.gate.listHosts('', 10)).hosts).toEqual([on.host]);
  expect(await on.gate.listBatches()).toEqual([on.batch]);
});

it('keeps a wait of three days, with all that is known of the job and of the host', async () => {
  await on.enter([1]);
  const untilMs = on.clock.now() + 3 * DAY_MS;
  const reply = await on.throttle(1, await on.admitted(1), 3 * DAY_MS, {
    jobEffect: { kind: 'defer', notBeforeMs: untilMs },
  });
  expect(reply.job).toEqual({ dueMs: untilMs, cause: 'not_before' });

  // What would Redis itself forget meanwhile?
  const lifetimes = new Map<string, number>();
  for (const key of await redis.keys('*')) lifetimes.set(key, await redis.pttl(key));
  for (const key of [`{holdoff}:job:${on.job(1)}`, `{holdoff}:batch:${on.batch}`])
    expect(lifetimes.get(key), key).toBe(-1);
  expect(lifetimes.get(`{holdoff}:host:${on.host}`)).toBeGreaterThan(3 * DAY_MS);

  // A night, a clock that brings it back too early, indexes lost on the way.
  on.clock.advance(DAY_MS);
  expect(await on.waits(1, { delivery: 2 })).toMatchObject({
    cause: 'not_before',
    untilMs,
    fallbackMs: untilMs,
  });
  await redis.del('{holdoff}:wheel', '{holdoff}:deadlines', '{holdoff}:hosts');
  on.clock.advance(2 * DAY_MS - 1);
  expect(await on.waits(1, { delivery: 3 })).toMatchObject({ cause: 'not_before', untilMs });
  on.clock.advance(1);
  const admitted = await on.admitted(1, { delivery: 4 });
  expect(admitted).toMatchObject({ attempt: 2, facts: { attempts: 2, run: 2, deferrals: 1 } });
});
