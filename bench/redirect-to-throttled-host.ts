import type { HostDescriptionInput } from '@holdoff/sample-origin';
import type { Bench, Cell } from './harness/bench.ts';
import type { Verdict } from './harness/origin-process.ts';
import type { PeerName } from './harness/peer-process.ts';

const URLS = 200;
const SLOTS = 16;
const PER_SECOND = 10;
const BURST = 10;
const IDEAL_SECONDS = (URLS - BURST) / PER_SECOND;
const BUDGET_MS = 2.5 * IDEAL_SECONDS * 1000;
const PEERS: readonly PeerName[] = ['got-backoff', 'got-retry-after', 'bullmq-pause'];
const OURS = 'holdoff';

const hostsFor = (client: string): HostDescriptionInput[] => [
  { name: `${client}.door`, rules: [{ answer: { kind: 'redirect', toHost: `${client}.room` } }] },
  {
    name: `${client}.room`,
    limiter: { kind: 'penalty', perSecond: PER_SECOND, burst: BURST, penaltyMs: 2_000, extendMs: 200 },
    latency: { kind: 'uniform', minMs: 20, maxMs: 80 },
  },
];

const row = (client: string, seen: Verdict): Cell[] => [
  client,
  seen.served,
  Math.max(0, URLS - seen.served),
  seen.throttledShare * 100,
  seen.afterNotice,
  seen.seconds,
  seen.seconds / IDEAL_SECONDS,
];

export const bench: Bench = {
  name: 'redirect-to-throttled-host',
  about: `${URLS} URLs of a free host that redirects each to a host of ${PER_SECOND} requests/s (burst ${BURST}) with a penalty for early requests, ${SLOTS} requests at once. Judged at the second host. Ideal: ${IDEAL_SECONDS} s; everybody ends after ${BUDGET_MS / 1000} s.`,
  run: async (lab) => {
    const origin = await lab.origin({ hosts: [...PEERS, OURS].flatMap(hostsFor) });
    const redisUrl = (await lab.redis()).url;
    const peers = PEERS.map((peer) => {
      const urls = origin.urls([`${peer}.door`], URLS);
      return lab.peer({ peer, urls, slots: SLOTS, budgetMs: BUDGET_MS, redisUrl });
    });
    for (const peer of peers) peer.catch(() => undefined);

    const fleet = await lab.fleet({ originPort: origin.port, concurrency: SLOTS / 2 });
    await fleet.startWorkers(2);
    await fleet.addToInbox('redirects', origin.urls([`${OURS}.door`], URLS));
    await fleet.ended('redirects', URLS, BUDGET_MS);
    const ours = await origin.judge([`${OURS}.room`]);
    await Promise.all(peers);
    const rows: Cell[][] = [];
    for (const peer of PEERS) rows.push(row(peer, await origin.judge([`${peer}.room`])));
    rows.push(row('Holdoff, cold', ours));
    return {
      columns: ['client', 'served', 'unserved', '429 %', 'inside a cooldown', 'seconds', '÷ ideal'],
      rows,
      figures: [
        { name: 'URLs served', value: ours.served, unit: '', target: { atLeast: URLS } },
        { name: 'time ÷ ideal', value: ours.seconds / IDEAL_SECONDS, unit: '', target: { atMost: 2 } },
        { name: 'inside a cooldown', value: ours.afterNotice, unit: '', target: { atMost: 0 } },
      ],
    };
  },
};
