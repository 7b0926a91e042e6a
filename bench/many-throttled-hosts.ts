import { type HostDescriptionInput, SCENARIOS } from '@holdoff/sample-origin';
import type { Bench, Cell } from './harness/bench.ts';
import { idealSeconds } from './harness/ideal.ts';
import type { OriginProcess, Verdict } from './harness/origin-process.ts';
import type { PeerName } from './harness/peer-process.ts';

const URLS_PER_HOST = 60;
const SLOTS = 40;
const MIXED = SCENARIOS['mixed']?.origin.hosts ?? [];
const URLS = URLS_PER_HOST * MIXED.length;
const IDEAL_SECONDS = Math.max(...MIXED.map(({ limiter }) => idealSeconds(limiter, URLS_PER_HOST)));
const BUDGET_MS = 1.6 * IDEAL_SECONDS * 1000;
const PEERS: readonly PeerName[] = ['got-retry-after', 'bullmq-pause'];
const OURS = 'holdoff';

const copyFor = (client: string): HostDescriptionInput[] =>
  MIXED.map((host) => ({ ...host, name: `${client}.${host.name}` }));
const namesOf = (client: string): string[] => copyFor(client).map(({ name }) => name);

/** Hosts in turn. */
function urlsOf(origin: OriginProcess, client: string): string[] {
  const hosts = namesOf(client).map((name) => origin.urlOf(name));
  return Array.from({ length: URLS_PER_HOST }, (_, n) => hosts.map((host) => `${host}/page/${n}`)).flat();
}

const row = (client: string, seen: Verdict): Cell[] => [
  client,
  seen.served,
  URLS - seen.served,
  seen.throttledShare * 100,
  seen.afterNotice,
  seen.seconds,
  seen.seconds / IDEAL_SECONDS,
];

export const bench: Bench = {
  name: 'many-throttled-hosts',
  about: `${MIXED.length} hosts of 1 to ${MIXED.length} requests/s with five kinds of limiter and six ways to say when to come back, ${URLS_PER_HOST} URLs each, ${SLOTS} requests at once, all hosts new. Ideal: ${IDEAL_SECONDS} s, set by the slowest host. Everybody ends after ${BUDGET_MS / 1000} s; each has hosts of its own, all at the same time.`,
  run: async (lab) => {
    const origin = await lab.origin({ hosts: [...PEERS, OURS].flatMap(copyFor) });
    const redisUrl = (await lab.redis()).url;
    const peers = PEERS.map((peer) =>
      lab.peer({ peer, urls: urlsOf(origin, peer), slots: SLOTS, budgetMs: BUDGET_MS, redisUrl }),
    );
    for (const peer of peers) peer.catch(() => undefined);

    const fleet = await lab.fleet({ originPort: origin.port, concurrency: SLOTS / 2 });
    await fleet.startWorkers(2);
    await fleet.addToInbox('mixed', urlsOf(origin, OURS));
    await fleet.ended('mixed', URLS, BUDGET_MS);
    const ours = await origin.judge(namesOf(OURS));
    await Promise.all(peers);
    const rows: Cell[][] = [];
    for (const peer of PEERS) rows.push(row(peer, await origin.judge(namesOf(peer))));
    rows.push(row('Holdoff, cold', ours));
    return {
      columns: ['client', 'served', 'unserved', '429 %', 'inside a cooldown', 'seconds', '÷ ideal'],
      rows,
      figures: [
        { name: 'URLs served', value: ours.served, unit: '', target: { atLeast: URLS } },
        {
          name: 'time ÷ ideal, cold',
          value: ours.seconds / IDEAL_SECONDS,
          unit: '',
          target: { atMost: 1.3 },
        },
        { name: '429s', value: ours.throttledShare * 100, unit: '%', target: { atMost: 2 } },
        { name: 'inside a cooldown', value: ours.afterNotice, unit: '', target: { atMost: 0 } },
      ],
    };
  },
};
