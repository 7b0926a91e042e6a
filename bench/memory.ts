import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './harness/bench.ts';

const WAITING = 20_000;
const ENDED = 5_000;
const IN_FLIGHT = 50;
const SETTLE_MS = 3_000;
const BUDGET_MS = 60_000;
/** One host for each request in flight, so that no host's slots are the limit. */
const BUSY = Array.from({ length: IN_FLIGHT }, (_, n) => `busy-${n + 1}`);
const POLICY = 'concurrency: 50\npace:\n  learn: off\n';

const mebibytes = (bytes: number | null): number | null => (bytes === null ? null : bytes / 1024 ** 2);

export const bench: Bench = {
  name: 'memory',
  about: `Memory that Redis needs for each waiting URL (${WAITING.toLocaleString('en-US')} of one host) and for each ended one (${ENDED.toLocaleString('en-US')}, ledger kept, queue trimmed), and that one worker process needs with ${IN_FLIGHT} requests in flight.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [
        { name: 'free', page: { distinct: true } },
        ...BUSY.map((name) => ({ name, latency: { kind: 'fixed', ms: 10_000 } }) as const),
      ],
    });
    const setUp = { originPort: origin.port, policy: POLICY, concurrency: IN_FLIGHT };

    const waiting = await lab.fleet(setUp);
    const empty = (await waiting.redisFigures()).dataBytes;
    await waiting.enter('waiting', origin.urls(['free'], WAITING));
    const perWaiting = ((await waiting.redisFigures()).dataBytes - empty) / WAITING;

    const ended = await lab.fleet(setUp);
    const before = (await ended.redisFigures()).dataBytes;
    await ended.enter('ended', origin.urls(['free'], ENDED));
    await ended.startWorkers(1);
    const all = await ended.ended('ended', ENDED, BUDGET_MS);
    await ended.stopWorkers();
    const perEnded = all ? ((await ended.redisFigures()).dataBytes - before) / ENDED : null;

    const busy = await lab.fleet(setUp);
    await busy.startWorkers(1);
    const idleBytes = await busy.workersRssBytes();
    await busy.addToInbox('busy', origin.urls(BUSY, 1));
    await sleep(SETTLE_MS);
    const busyBytes = await busy.workersRssBytes();
    const inFlight = (await origin.stats()).hosts.reduce((sum, host) => sum + host.inFlight, 0);

    return {
      columns: ['what', 'measured', 'unit'],
      rows: [
        ['Redis, per waiting URL', perWaiting, 'bytes'],
        ['Redis, per ended URL', perEnded, 'bytes'],
        ['worker, idle', mebibytes(idleBytes), 'MiB'],
        [`worker, ${inFlight} in flight`, mebibytes(busyBytes), 'MiB'],
      ],
      figures: [
        { name: 'Redis bytes per waiting URL', value: perWaiting, unit: 'B' },
        { name: 'Redis bytes per ended URL', value: perEnded, unit: 'B' },
        { name: 'worker memory with 50 in flight', value: mebibytes(busyBytes), unit: 'MiB' },
      ],
    };
  },
};
