import type { HostDescriptionInput } from '@holdoff/sample-origin';
import type { Bench, Cell } from './harness/bench.ts';
import type { Verdict } from './harness/origin-process.ts';
import type { PeerName } from './harness/peer-process.ts';

const URLS = 300;
const SLOTS = 16;
const PER_SECOND = 10;
const BURST = 10;
const IDEAL_SECONDS = (URLS - BURST) / PER_SECOND;
const BUDGET_MS = 2.5 * IDEAL_SECONDS * 1000;
const PEERS: readonly PeerName[] = ['got-backoff', 'got-retry-after', 'bullmq-pause'];
const OURS = 'holdoff';

const throttledHost = (name: string): HostDescriptionInput => ({
  name,
  limiter: {
    kind: 'penalty',
    perSecond: PER_SECOND,
    burst: BURST,
    penaltyMs: 2_000,
    extendMs: 200,
    penaltyMostMs: 30_000,
  },
  latency: { kind: 'uniform', minMs: 20, maxMs: 80 },
});

const row = (client: string, seen: Verdict, givenUp: number): Cell[] => [
  client,
  seen.served,
  givenUp,
  URLS - seen.served - givenUp,
  seen.throttledShare * 100,
  seen.afterNotice,
  seen.seconds,
  seen.served / seen.seconds / PER_SECOND,
];

export const bench: Bench = {
  name: 'one-throttled-host',
  about: `${URLS} URLs of a host that allows ${PER_SECOND} requests/s (burst ${BURST}) and extends its penalty for early requests, ${SLOTS} requests at once. Ideal: ${IDEAL_SECONDS} s. Baselines end after ${BUDGET_MS / 1000} s; each has a host of its own, all at the same time. Cold: the host is new to Holdoff. Warm: the same fleet, another ${URLS} URLs.`,
  run: async (lab) => {
    const origin = await lab.origin({ hosts: [...PEERS, OURS].map(throttledHost) });
    const redisUrl = (await lab.redis()).url;
    const peers = PEERS.map((peer) =>
      lab.peer({ peer, urls: origin.urls([peer], URLS), slots: SLOTS, budgetMs: BUDGET_MS, redisUrl }),
    );
    // Judged by their own hosts; a failure shows when they are awaited below.
    for (const peer of peers) peer.catch(() => undefined);

    const fleet = await lab.fleet({ originPort: origin.port, concurrency: SLOTS / 2 });
    await fleet.startWorkers(2);
    const ours = async (batch: string): Promise<Verdict> => {
      await fleet.addToInbox(batch, origin.urls([OURS], URLS));
      await fleet.ended(batch, URLS, BUDGET_MS);
      return origin.judge([OURS]);
    };
    const cold = await ours('cold');
    const reports = await Promise.all(peers);
    const rows: Cell[][] = [];
    for (const [at, peer] of PEERS.entries()) {
      rows.push(row(peer, await origin.judge([peer]), reports[at]?.lost ?? 0));
    }
    await origin.reset();
    const warm = await ours('warm');
    rows.push(row('Holdoff, cold', cold, 0), row('Holdoff, warm', warm, 0));
    return {
      columns: [
        'client',
        'served',
        'given up',
        'unfinished',
        '429 %',
        'inside a cooldown',
        'seconds',
        'goodput ÷ limit',
      ],
      rows,
      figures: [
        ...figuresOf('cold', cold, { ideals: 2, throttledPercent: 3 }),
        ...figuresOf('warm', warm, { ideals: 1.15, throttledPercent: 1 }),
      ],
    };
  },
};

function figuresOf(
  run: string,
  seen: Verdict,
  target: { readonly ideals: number; readonly throttledPercent: number },
) {
  return [
    { name: `${run}: URLs served`, value: seen.served, unit: '', target: { atLeast: URLS } },
    {
      name: `${run}: time ÷ ideal`,
      value: seen.seconds / IDEAL_SECONDS,
      unit: '',
      target: { atMost: target.ideals },
    },
    {
      name: `${run}: 429s`,
      value: seen.throttledShare * 100,
      unit: '%',
      target: { atMost: target.throttledPercent },
    },
    { name: `${run}: inside a cooldown`, value: seen.afterNotice, unit: '', target: { atMost: 0 } },
  ];
}
