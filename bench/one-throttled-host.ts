import type { Bench, Cell } from './harness/bench.ts';
import type { PeerName } from './harness/peer-process.ts';

const URLS = 300;
const SLOTS = 16;
const PER_SECOND = 10;
const BURST = 10;
const IDEAL_SECONDS = (URLS - BURST) / PER_SECOND;
const BUDGET_MS = 2.5 * IDEAL_SECONDS * 1000;
const PEERS: readonly PeerName[] = ['got-backoff', 'got-retry-after', 'bullmq-pause'];

export const bench: Bench = {
  name: 'one-throttled-host',
  about: `${URLS} URLs of a host that allows ${PER_SECOND} requests/s (burst ${BURST}) and extends its penalty for early requests, ${SLOTS} requests at once. Ideal: ${IDEAL_SECONDS} s. Baselines end after ${BUDGET_MS / 1000} s; each has a host of its own.`,
  run: async (lab) => {
    const origin = await lab.origin({
      hosts: PEERS.map((name) => ({
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
      })),
    });
    const redisUrl = (await lab.redis()).url;
    const reports = await Promise.all(
      PEERS.map((peer) =>
        lab.peer({ peer, urls: origin.urls([peer], URLS), slots: SLOTS, budgetMs: BUDGET_MS, redisUrl }),
      ),
    );
    const rows: Cell[][] = [];
    for (const [at, peer] of PEERS.entries()) {
      const report = reports[at];
      const seen = await origin.judge([peer]);
      rows.push([
        peer,
        seen.served,
        report?.lost ?? null,
        report?.unfinished ?? null,
        seen.throttledShare * 100,
        seen.afterNotice,
        seen.seconds,
        seen.served / seen.seconds / PER_SECOND,
      ]);
    }
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
      figures: [],
    };
  },
};
