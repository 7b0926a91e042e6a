import type { Bench } from './harness/bench.ts';

const URLS = 10_000;
const SLOTS = 50;

export const bench: Bench = {
  name: 'throughput',
  about: `URLs per second of one worker process through the whole path (admission, fetch, settling, result) against bare got, ${URLS.toLocaleString('en-US')} URLs of one host without a limit, ${SLOTS} requests at once.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: 'free', page: { bytes: 2_048 } }],
    });
    const got = await lab.peer({
      peer: 'got',
      urls: origin.urls(['free'], URLS),
      slots: SLOTS,
      budgetMs: 60_000,
    });
    return {
      columns: ['client', 'served', 'seconds', 'URLs/s', 'CPU s'],
      rows: [['got', got.served, got.seconds, got.served / got.seconds, got.cpuSeconds]],
      figures: [],
    };
  },
};
