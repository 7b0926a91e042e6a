import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GateFixture, OPEN_BATCH, PLAIN_RULES } from '../testing/gate-fixture.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { type TestRedis, startTestRedis } from '../testing/start-redis.ts';
import { createRedisGate } from './redis-gate.ts';

let server: TestRedis;
let deployment: string;
let on: GateFixture;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());
beforeEach(() => {
  deployment = server.deployment();
  const clock = new ManualClock();
  on = new GateFixture(createRedisGate({ redis: server.redis, deployment, clock: clock.now }), clock);
});

/** Every key of the deployment with the bytes of its value. */
async function keyspace(): Promise<Map<string, string>> {
  const keys = await server.redis.keys(`{${deployment}}:*`);
  const dumps = await Promise.all(keys.map((key) => server.redis.dumpBuffer(key)));
  return new Map(keys.map((key, index) => [key, dumps[index]?.toString('base64') ?? '']));
}

/** The kinds of keys (`job`, `lane`, ...) that `act` changes. */
async function changedBy(act: () => Promise<unknown>): Promise<string[]> {
  const before = await keyspace();
  await act();
  const after = await keyspace();
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => before.get(key) !== after.get(key),
  );
  return [...new Set(changed.map((key) => key.split(':')[1] ?? key))].toSorted();
}

const ONE = { rules: { ...PLAIN_RULES, concurrency: 1 } };
const AGAIN = { kind: 'retry_at', notBeforeMs: 0, inPlace: false } as const;

const REFUSALS: readonly (readonly [string, () => Promise<() => Promise<unknown>>])[] = [
  [
    'a cancelled batch',
    async () => {
      await on.enter([1]);
      await on.gate.cancelBatch(on.batch, 'me');
      return () => on.admit(1);
    },
  ],
  [
    'a batch that is not approved',
    async () => {
      await on.enter([1], { defaults: { ...OPEN_BATCH, approved: false } });
      return () => on.admit(1);
    },
  ],
  [
    'a spent batch',
    async () => {
      const spend = { requestsMax: 1, bytesMax: 0, costMicrosMax: 0 };
      await on.enter([1, 2], { defaults: { ...OPEN_BATCH, spend } });
      await on.settle(1, await on.admitted(1));
      return () => on.admit(2);
    },
  ],
  [
    'a deadline that cannot be met',
    async () => {
      await on.enter([1], { deadlineMs: on.clock.now() + 1000 });
      return () => on.admit(1);
    },
  ],
  [
    'no attempts left',
    async () => {
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), { outcome: 'transport', jobEffect: AGAIN });
      return () => on.admit(1, { delivery: 2, attemptsMax: 1 });
    },
  ],
  [
    'no tokens left in the batch',
    async () => {
      await on.enter([1], { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 0 } } });
      await on.settle(1, await on.admitted(1), { outcome: 'transport', jobEffect: AGAIN });
      return () => on.admit(1, { delivery: 2 });
    },
  ],
  [
    'an older delivery',
    async () => {
      await on.enter([1]);
      await on.admitted(1, { delivery: 2 });
      return () => on.admit(1, { delivery: 1 });
    },
  ],
  [
    'a job that has ended',
    async () => {
      await on.enter([1]);
      await on.settle(1, await on.admitted(1));
      return () => on.admit(1, { delivery: 2 });
    },
  ],
  [
    'the same admission again',
    async () => {
      await on.enter([1]);
      const request = on.admitRequest(1);
      await on.gate.admit(request);
      return () => on.gate.admit(request);
    },
  ],
  [
    'the same settlement again',
    async () => {
      await on.enter([1]);
      const request = on.settleRequest(1, await on.admitted(1));
      await on.gate.settle(request);
      return () => on.gate.settle(request);
    },
  ],
  [
    'an end of a job that has ended, and a sweep under a live request',
    async () => {
      await on.enter([1, 2]);
      await on.settle(1, await on.admitted(1));
      await on.admitted(2);
      const end = { kind: 'stopped', reason: 'deadline' } as const;
      return async () => {
        await on.gate.finish({ job: on.job(1), batch: on.batch, delivery: 1, end, evidence: '' });
        await on.gate.finish({ job: on.job(2), batch: on.batch, delivery: 0, end, evidence: '' });
      };
    },
  ],
  [
    'jobs entered again',
    async () => {
      await on.enter([1, 2, 3]);
      return () => on.enter([1, 2, 3]);
    },
  ],
  [
    'nothing due on the wheel',
    async () => {
      await on.enter([1, 2, 3]);
      return () => on.gate.wake({ hostsMax: 10, jobsMax: 10 });
    },
  ],
  [
    'everything that only looks',
    async () => {
      await on.enter([1, 2, 3]);
      await on.throttle(1, await on.admitted(1), 5000);
      return async () => {
        await on.gate.inspectHost(on.host);
        await on.gate.inspectJob(on.job(1));
        await on.gate.inspectBatch(on.batch);
        await on.gate.listHosts('', 10);
        await on.gate.listBatches();
        await on.gate.listLane(on.host, 0, 10);
      };
    },
  ],
];

describe('a refusal', () => {
  it.each(REFUSALS)('leaves every key as it was: %s', async (_, prepare) => {
    const act = await prepare();
    expect(await changedBy(act)).toEqual([]);
  });

  it('that is a wait in the lane writes the lane entry, the ledger and the trail', async () => {
    await on.enter([1, 2, 3]);
    await on.admitted(1, ONE);
    expect(await changedBy(() => on.waits(2, ONE))).toEqual(['called', 'job', 'lane', 'trail']);
    expect(await changedBy(() => on.waits(3, ONE))).toEqual(['job', 'trail']);
  });

  it("that is a wait for the job's own instant writes the ledger and the trail", async () => {
    await on.enter([1], { notBeforeMs: on.clock.now() + 60_000 });
    expect(await changedBy(() => on.waits(1))).toEqual(['job', 'trail']);
  });

  it('that is a short wait writes no ledger, no trail and no batch', async () => {
    const paced = { rules: { ...PLAIN_RULES, paceIntervalMs: 200 } };
    await on.enter([1, 2], paced);
    await on.admitted(1, paced);
    const changed = await changedBy(async () => {
      expect(await on.waits(2, paced)).toMatchObject({ inline: true });
    });
    expect(changed).not.toContain('trail');
    expect(changed).not.toContain('batch');
  });
});
