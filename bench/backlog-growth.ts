import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Cell } from './harness/bench.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess } from './harness/origin-process.ts';

const BACKLOGS = [1_000, 10_000, 100_000];
/** Counted between these two dispatches: past the start, before the smallest backlog runs out. */
const FROM = 100;
const TO = 800;
const HOST = 'busy';
const ENTER_WITHIN_MS = 120_000;
const DISPATCH_WITHIN_MS = 60_000;
const POLICY = 'concurrency: 4\npace:\n  learn: off\n';

interface Cost {
  readonly perSecond: number;
  readonly redisMs: number;
  readonly workerMs: number | null;
  readonly commands: number;
}

async function dispatched(origin: OriginProcess, count: number): Promise<void> {
  const giveUpAt = performance.now() + DISPATCH_WITHIN_MS;
  while ((await origin.judge([HOST])).requests < count) {
    if (performance.now() > giveUpAt) throw new Error(`fewer than ${count} dispatches in time`);
    await sleep(20);
  }
}

async function costAt(lab: Lab, origin: OriginProcess, backlog: number): Promise<Cost> {
  await origin.reset();
  const fleet = await lab.fleet({ originPort: origin.port, policy: POLICY, concurrency: 20 });
  await fleet.enter('backlog', origin.urls([HOST], backlog), ENTER_WITHIN_MS);
  await fleet.startWorkers(1);
  await dispatched(origin, FROM);
  const measure = async () => ({
    requests: (await origin.judge([HOST])).requests,
    atMs: performance.now(),
    cost: await fleet.cost(),
    commands: (await fleet.redisFigures()).commands,
  });
  const before = await measure();
  await dispatched(origin, TO);
  const after = await measure();
  await fleet.stopWorkers();
  const count = after.requests - before.requests;
  const workers =
    after.cost.workers === null || before.cost.workers === null
      ? null
      : after.cost.workers - before.cost.workers;
  return {
    perSecond: (count * 1000) / (after.atMs - before.atMs),
    redisMs: ((after.cost.redis - before.cost.redis) * 1000) / count,
    workerMs: workers === null ? null : (workers * 1000) / count,
    commands: (after.commands - before.commands) / count,
  };
}

export const bench: Bench = {
  name: 'backlog-growth',
  about: `What one dispatch costs while 1,000, 10,000 and 100,000 URLs of the same host wait: 4 requests at once to a host that answers after 20 ms, between dispatch ${FROM} and ${TO}.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: HOST, latency: { kind: 'fixed', ms: 20 } }],
    });
    const costs: Cost[] = [];
    for (const backlog of BACKLOGS) costs.push(await costAt(lab, origin, backlog));
    const rows: Cell[][] = costs.map((cost, at) => [
      BACKLOGS[at] ?? null,
      cost.perSecond,
      cost.redisMs,
      cost.workerMs,
      cost.commands,
    ]);
    const [small, , large] = costs;
    const growth = (of: (cost: Cost) => number): number | null =>
      small === undefined || large === undefined ? null : of(large) / of(small);
    return {
      columns: [
        'waiting URLs',
        'dispatches/s',
        'Redis CPU ms / dispatch',
        'worker CPU ms / dispatch',
        'Redis commands / dispatch',
      ],
      rows,
      figures: [
        {
          name: 'Redis CPU per dispatch, 100,000 ÷ 1,000 waiting',
          value: growth(({ redisMs }) => redisMs),
          unit: '',
          target: { atMost: 1.25 },
        },
        {
          name: 'Redis commands per dispatch, 100,000 ÷ 1,000 waiting',
          value: growth(({ commands }) => commands),
          unit: '',
          target: { atMost: 1.25 },
        },
      ],
      notes: ['Redis commands include those that scripts run and the few of the bench itself.'],
    };
  },
};
