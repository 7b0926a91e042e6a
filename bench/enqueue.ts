import type { Bench } from './harness/bench.ts';

const URLS = 50_000;
const HOSTS = 100;
const ENTER_WITHIN_MS = 100_000;

export const bench: Bench = {
  name: 'enqueue',
  about: `URLs per second from the inbox stream into the queue through one scheduler: ${URLS.toLocaleString('en-US')} URLs of ${HOSTS} hosts, each checked, given its id, entered at the gate and added, no worker running.`,
  run: async (lab) => {
    const fleet = await lab.fleet({ originPort: 80, concurrency: 1 });
    const urls = Array.from({ length: URLS }, (_, n) => `http://host-${n % HOSTS}.test/page/${n}`);
    const before = await fleet.cost();
    const seconds = await fleet.enter('enqueue', urls, ENTER_WITHIN_MS);
    const after = await fleet.cost();
    const scheduler =
      after.scheduler === null || before.scheduler === null ? null : after.scheduler - before.scheduler;
    return {
      columns: ['URLs', 'seconds', 'URLs/s', 'scheduler CPU s / 1,000', 'Redis CPU s / 1,000'],
      rows: [
        [
          URLS,
          seconds,
          URLS / seconds,
          scheduler === null ? null : (scheduler * 1000) / URLS,
          ((after.redis - before.redis) * 1000) / URLS,
        ],
      ],
      figures: [{ name: 'URLs/s through the inbox', value: URLS / seconds, unit: '/s' }],
    };
  },
};
