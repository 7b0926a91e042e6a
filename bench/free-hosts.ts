import type { Bench, Cell, Figure } from './harness/bench.ts';
import { runHoldoff, UNPACED } from './harness/holdoff-run.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess } from './harness/origin-process.ts';
import type { PeerName } from './harness/peer-process.ts';
import { openStore } from './harness/store.ts';

const HOSTS = 200;
const URLS_PER_HOST = 100;
const SLOTS = 50;
const BUDGET_MS = 45_000;
const NAMES = Array.from({ length: HOSTS }, (_, n) => `free-${n + 1}`);
const THOUSANDS = (HOSTS * URLS_PER_HOST) / 1000;

/** Hosts in turn, as a shuffled list has them: no run of URLs of one host. */
function urlsOf(origin: OriginProcess): string[] {
  const hosts = NAMES.map((name) => origin.urlOf(name));
  return Array.from({ length: URLS_PER_HOST }, (_, page) =>
    hosts.map((host) => `${host}/page/${page}`),
  ).flat();
}

async function peerRow(lab: Lab, origin: OriginProcess, peer: PeerName): Promise<Cell[]> {
  await origin.reset();
  const task = { peer, urls: urlsOf(origin), slots: SLOTS, budgetMs: BUDGET_MS };
  if (!peer.startsWith('bullmq')) {
    const report = await lab.peer(task);
    const seen = await origin.judge(NAMES);
    return [peer, seen.served, seen.served / seen.seconds, report.cpuSeconds / (seen.served / 1000), null];
  }
  const redis = await lab.redis();
  const store = await openStore(redis.url);
  const report = await lab.peer({ ...task, redisUrl: redis.url });
  const redisCpu = await store.cpuSeconds();
  await store.close();
  const seen = await origin.judge(NAMES);
  const thousands = seen.served / 1000;
  return [peer, seen.served, seen.served / seen.seconds, report.cpuSeconds / thousands, redisCpu / thousands];
}

export const bench: Bench = {
  name: 'free-hosts',
  about: `${(HOSTS * URLS_PER_HOST).toLocaleString('en-US')} URLs of ${HOSTS} hosts without a limit, ${SLOTS} requests at once, pace unlimited: URLs per second between the first and the last request, and CPU time per 1,000 URLs of the client and of Redis.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: 'free', count: HOSTS, page: { bytes: 2_048, distinct: true } }],
    });
    const rows: Cell[][] = [];
    for (const peer of ['undici', 'got', 'bullmq-got'] as const) rows.push(await peerRow(lab, origin, peer));

    await origin.reset();
    const fleet = await lab.fleet({ originPort: origin.port, policy: UNPACED, concurrency: SLOTS });
    const run = await runHoldoff(fleet, {
      origin,
      hosts: NAMES,
      urls: urlsOf(origin),
      batch: 'free',
      workers: 1,
      budgetMs: BUDGET_MS,
    });
    const rate = run.seen.served / run.seconds;
    const worker = run.cost.workers === null ? null : run.cost.workers / THOUSANDS;
    const redis = run.cost.redis / THOUSANDS;
    rows.push(['Holdoff, 1 worker', run.seen.served, rate, worker, redis]);
    const figures: Figure[] = [
      { name: 'URLs/s', value: rate, unit: '/s', target: { atLeast: 1_100 } },
      { name: 'worker CPU per 1,000 URLs', value: worker, unit: 's', target: { atMost: 1.3 } },
      { name: 'Redis CPU per 1,000 URLs', value: redis, unit: 's', target: { atMost: 0.5 } },
    ];
    return {
      columns: ['client', 'served', 'URLs/s', 'CPU s / 1,000', 'Redis CPU s / 1,000'],
      rows,
      figures,
      notes: [
        "BullMQ's jobs were added and Holdoff's URLs entered before the clocks started, but Redis' time for BullMQ includes the adding.",
        'Every client stores nothing but Holdoff, which writes and syncs each body and each result.',
      ],
    };
  },
};
