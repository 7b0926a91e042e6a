import type { Bench } from './harness/bench.ts';
import { runHoldoff, UNPACED } from './harness/holdoff-run.ts';

const URLS = 10_000;
const SLOTS = 50;
const BUDGET_MS = 60_000;
const HOST = 'free';

export const bench: Bench = {
  name: 'throughput',
  about: `URLs per second of one worker process through the whole path (queue, admission, fetch, result on disk, settling) against bare got: ${URLS.toLocaleString('en-US')} URLs of one host without a limit, ${SLOTS} requests at once, pace unlimited.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [{ name: HOST, page: { bytes: 2_048, distinct: true } }],
    });
    const urls = origin.urls([HOST], URLS);
    const report = await lab.peer({ peer: 'got', urls, slots: SLOTS, budgetMs: BUDGET_MS });
    const got = await origin.judge([HOST]);

    await origin.reset();
    const fleet = await lab.fleet({
      originPort: origin.port,
      policy: `concurrency: ${SLOTS}\n${UNPACED}`,
      concurrency: SLOTS,
    });
    const task = { origin, hosts: [HOST], urls, batch: 'throughput', workers: 1, budgetMs: BUDGET_MS };
    const holdoff = await runHoldoff(fleet, task);

    const gotRate = got.served / got.seconds;
    const holdoffRate = holdoff.seen.served / holdoff.seconds;
    return {
      columns: [
        'client',
        'served',
        'seconds',
        'URLs/s',
        'CPU ms / URL',
        'Redis CPU ms / URL',
        'hops per URL',
      ],
      rows: [
        ['got', got.served, got.seconds, gotRate, (report.cpuSeconds * 1000) / got.served, null, null],
        [
          'Holdoff, 1 worker',
          holdoff.seen.served,
          holdoff.seconds,
          holdoffRate,
          holdoff.cost.workers === null ? null : (holdoff.cost.workers * 1000) / holdoff.seen.served,
          (holdoff.cost.redis * 1000) / holdoff.seen.served,
          holdoff.hops / URLS,
        ],
      ],
      figures: [
        {
          name: 'URLs/s ÷ bare got',
          value: holdoffRate / gotRate,
          unit: '',
          target: { atLeast: 0.7 },
        },
      ],
    };
  },
};
