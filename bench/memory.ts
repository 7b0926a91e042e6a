import { setTimeout as sleep } from 'node:timers/promises';
import type { HostDescriptionInput } from '@holdoff/sample-origin';
import type { Bench } from './harness/bench.ts';
import type { OriginProcess } from './harness/origin-process.ts';

const WAITING = 20_000;
const ENDED = 2_000;
const IN_FLIGHT = 50;
const IN_FLIGHT_WITHIN_MS = 30_000;
const BUDGET_MS = 60_000;
/** One host for each request in flight, so that no host's slots are the limit. */
const BUSY = Array.from({ length: IN_FLIGHT }, (_, n) => `busy-${n + 1}`);
const POLICY = 'concurrency: 50\npace:\n  learn: off\n';

const mebibytes = (bytes: number | null): number | null => (bytes === null ? null : bytes / 1024 ** 2);

/** Its robots.txt answers, its pages never do. */
const hangingHost = (name: string): HostDescriptionInput => ({
  name,
  rules: [{ path: '/page/*', answer: { kind: 'never' } }],
});

/** Waits for all requests to hang; answers how many do. */
async function untilInFlight(origin: OriginProcess): Promise<number> {
  const giveUpAt = performance.now() + IN_FLIGHT_WITHIN_MS;
  for (;;) {
    const inFlight = (await origin.stats()).hosts.reduce((sum, host) => sum + host.inFlight, 0);
    if (inFlight >= IN_FLIGHT || performance.now() > giveUpAt) return inFlight;
    await sleep(100);
  }
}

export const bench: Bench = {
  name: 'memory',
  about: `Memory that Redis needs for each waiting URL (${WAITING.toLocaleString('en-US')} of one host) and for each ended one (${ENDED.toLocaleString('en-US')}, ledger kept, queue trimmed), and that one worker process needs with ${IN_FLIGHT} requests in flight.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: 'free', page: { distinct: true } }, ...BUSY.map(hangingHost)],
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
    const inFlight = await untilInFlight(origin);
    const busyBytes = await busy.workersRssBytes();

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
        {
          name: `worker memory with ${IN_FLIGHT} in flight`,
          value: inFlight < IN_FLIGHT ? null : mebibytes(busyBytes),
          unit: 'MiB',
        },
      ],
    };
  },
};
