import type { Bench, Cell } from './harness/bench.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess } from './harness/origin-process.ts';
import type { PeerName } from './harness/peer-process.ts';

const HOSTS = 200;
const URLS_PER_HOST = 100;
const SLOTS = 50;
const BUDGET_MS = 60_000;

/** Hosts in turn, as a real list is shuffled: no run of URLs of one host. */
function urlsOf(origin: OriginProcess): string[] {
  const hosts = Array.from({ length: HOSTS }, (_, n) => origin.urlOf(`free-${n + 1}`));
  return Array.from({ length: URLS_PER_HOST }, (_, page) =>
    hosts.map((host) => `${host}/page/${page}`),
  ).flat();
}

async function peerRow(lab: Lab, origin: OriginProcess, peer: PeerName): Promise<Cell[]> {
  await origin.reset();
  const redis = peer.startsWith('bullmq') ? { redisUrl: (await lab.redis()).url } : {};
  const report = await lab.peer({ peer, urls: urlsOf(origin), slots: SLOTS, budgetMs: BUDGET_MS, ...redis });
  const thousands = report.served / 1000;
  return [peer, report.served, report.served / report.seconds, report.cpuSeconds / thousands, null];
}

export const bench: Bench = {
  name: 'free-hosts',
  about: `${(HOSTS * URLS_PER_HOST).toLocaleString('en-US')} URLs of ${HOSTS} hosts without a limit, ${SLOTS} requests at once: URLs per second, and CPU time per 1,000 URLs of the client and of Redis.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: 'free', count: HOSTS, page: { bytes: 2_048 } }],
    });
    const rows: Cell[][] = [];
    for (const peer of ['undici', 'got', 'bullmq-got'] as const) rows.push(await peerRow(lab, origin, peer));
    return {
      columns: ['client', 'served', 'URLs/s', 'CPU s / 1,000', 'Redis CPU s / 1,000'],
      rows,
      figures: [],
    };
  },
};
