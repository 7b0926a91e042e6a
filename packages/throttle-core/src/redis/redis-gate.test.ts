import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import type { Redis } from 'ioredis';
import { GateFixture, PLAIN_RULES } from '../testing/gate-fixture.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { connectGate, gateReady } from './connection.ts';
import { createRedisGate } from './redis-gate.ts';

let server: LocalRedis;
let redis: Redis;
let on: GateFixture;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = connectGate({ url: server.url, commandDeadlineMs: 2000 });
  await gateReady(redis, 5000);
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

describe('the Redis gate', () => {
  it('enters, admits, settles and remembers', async () => {
    expect((await on.enter([1, 2, 3])).map((r) => r.kind)).toEqual(['go', 'go', 'wait']);
    const first = await on.admitted(1);
    const second = await on.admitted(2);
    expect(await on.waits(3)).toMatchObject({ cause: 'slots', inline: false, place: 0 });
    const settled = await on.settle(1, first);
    expect(settled).toMatchObject({ kind: 'settled', call: [on.job(3)], job: null });
    await on.admitted(3);
    expect(await on.gate.inspectJob(on.job(1))).toMatchObject({ ended: { kind: 'done' }, requests: 1 });
    const t = await on.throttle(2, second, 60_000);
    expect(t).toMatchObject({ kind: 'settled', job: { cause: 'not_before' } });
    expect(await on.waits(2)).toMatchObject({ cause: 'not_before', place: null });
    on.clock.advance(60_000);
    expect(await on.admitted(2)).toMatchObject({ attempt: 2 });
    expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 4, throttled: 1 });
    expect(await on.gate.inspectHost(on.host)).toMatchObject({ waiting: 0, epoch: 1 });
    expect(PLAIN_RULES.concurrency).toBe(2);
    expect(await on.gate.wake({ hostsMax: 10, jobsMax: 10 })).toMatchObject({ call: [], expired: [] });
    expect(
      await on.gate.finish({
        job: on.job(3),
        batch: on.batch,
        delivery: 1,
        end: { kind: 'stopped', reason: 'cancelled' },
        evidence: 'x',
      }),
    ).toMatchObject({ kind: 'finished' });
    expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ jobs: { total: 3, done: 1, stopped: 1 } });
    await on.gate.hold(on.host, 'why', 'me');
    await on.enter([4]);
    expect((await on.gate.resume(on.host)).call).toEqual([on.job(4)]);
    expect((await on.gate.listHosts('', 10)).hosts).toEqual([on.host]);
  });
});
