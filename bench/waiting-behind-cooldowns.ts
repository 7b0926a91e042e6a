import type { Bench, Cell } from './harness/bench.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess } from './harness/origin-process.ts';

const COOLDOWNS = 3;
const COOLDOWN_SECONDS = 3;
const OTHER_URLS = 100;
const WARM_URLS = 1_000;
const SLOTS = 50;
const CAP = 20;
const BUDGET_MS = 120_000;
const [SLOW, OTHER, WARM] = ['slow', 'other', 'warm'] as const;

/** The first is the scenario that other designs were measured on; the second is one that two busy cores can serve. */
const SIZES = [
  { urls: 10_000, perSecond: 500 },
  { urls: 2_000, perSecond: 100 },
] as const;
type Size = (typeof SIZES)[number];
const WORKERS = [1, 4] as const;

const idealOf = ({ urls, perSecond }: Size): number => COOLDOWNS * COOLDOWN_SECONDS + urls / perSecond;

/** No pad and no ramp: what is measured is the waiting, not the caution. */
const policyFor = ({ perSecond }: Size, slowHost: string): string => `
concurrency: ${CAP}
retry_after: { pad: { multiply: 1, at_least: 0s, wake_jitter: 0s } }
pace: { learn: off }
circuit: off
ramp: off
host_tokens: off
hosts:
  ${slowHost}: { pace: { rate: ${perSecond}/s, learn: off } }
`;

interface Run {
  readonly served: number;
  readonly seconds: number;
  readonly otherSeconds: number;
  /** Times that a worker took a job of the slow host from the queue, for each of them. */
  readonly hops: number;
  readonly afterNotice: number;
  readonly gateCalls: number;
  readonly cost: { readonly worker: number | null; readonly redis: number };
}

async function run(lab: Lab, origin: OriginProcess, size: Size, workers: number): Promise<Run> {
  await origin.reset();
  const fleet = await lab.fleet({
    originPort: origin.port,
    policy: policyFor(size, new URL(origin.urlOf(SLOW)).hostname),
    concurrency: Math.ceil(SLOTS / workers),
  });
  // A process that has just started fetches a fifth as fast: that is measured elsewhere.
  await fleet.startWorkers(workers);
  await fleet.enter(WARM, origin.urls([WARM], WARM_URLS));
  await fleet.ended(WARM, WARM_URLS, BUDGET_MS);
  await fleet.pauseQueue();
  await fleet.enter(SLOW, [`${origin.urlOf(SLOW)}/stop`, ...origin.urls([SLOW], size.urls - 1)]);
  await fleet.enter(OTHER, origin.urls([OTHER], OTHER_URLS));
  const before = await fleet.cost();
  const callsBefore = await fleet.gateCalls();
  await fleet.resumeQueue();
  await fleet.ended(SLOW, size.urls, BUDGET_MS);
  const after = await fleet.cost();
  const gateCalls = (await fleet.gateCalls()) - callsBefore;
  const { hosts } = await origin.stats();
  const timesOf = (host: string, at: 'firstAtMs' | 'lastAtMs'): number =>
    hosts.find((one) => one.host === host)?.[at] ?? Number.NaN;
  const startedAtMs = Math.min(timesOf(SLOW, 'firstAtMs'), timesOf(OTHER, 'firstAtMs'));
  const slow = await origin.judge([SLOW]);
  const hops = (await fleet.deliveries(SLOW)) / size.urls;
  await fleet.stopWorkers();
  const per = (from: number, to: number): number => ((to - from) * 1000) / size.urls;
  return {
    served: slow.served,
    seconds: (timesOf(SLOW, 'lastAtMs') - startedAtMs) / 1000,
    otherSeconds: (timesOf(OTHER, 'lastAtMs') - startedAtMs) / 1000,
    hops,
    afterNotice: slow.afterNotice,
    gateCalls: gateCalls / size.urls,
    cost: {
      worker: before.workers === null || after.workers === null ? null : per(before.workers, after.workers),
      redis: per(before.redis, after.redis),
    },
  };
}

export const bench: Bench = {
  name: 'waiting-behind-cooldowns',
  about: `A host that asks for ${COOLDOWN_SECONDS} s ${COOLDOWNS} times in a row and then allows a rate, ${CAP} slots, with ${OTHER_URLS} URLs of a free host behind it; all entered before the first request, workers warm, ${SLOTS} jobs at once in the fleet. Hops: how often a worker takes a job from the queue. Others on 10,000 URLs: delaying all to the cooldown's end 10.2 hops and 23.7 s for the free host; a reserved slot for each 1.5 and 2.0 s; a crude index 1.3 and 3.9 s, with 54 s for the host itself.`,
  run: async (lab) => {
    const origin = await lab.origin({
      log: { entriesMax: 1_000 },
      hosts: [
        {
          name: SLOW,
          rules: [
            {
              path: '/stop',
              times: COOLDOWNS,
              answer: { kind: 'status', status: 429, retryAfterSeconds: COOLDOWN_SECONDS },
            },
          ],
        },
        { name: OTHER },
        { name: WARM },
      ],
    });
    const rows: Cell[][] = [];
    const runs: { readonly size: Size; readonly workers: number; readonly result: Run }[] = [];
    for (const size of SIZES) {
      for (const workers of WORKERS) {
        const result = await run(lab, origin, size, workers);
        runs.push({ size, workers, result });
        rows.push([
          `${size.urls.toLocaleString('en-US')} at ${size.perSecond}/s`,
          workers,
          result.served,
          result.afterNotice,
          result.hops,
          result.gateCalls,
          result.otherSeconds,
          result.seconds,
          result.seconds / idealOf(size),
          result.cost.worker,
          result.cost.redis,
        ]);
      }
    }
    return {
      columns: [
        'URLs of the host',
        'workers',
        'served',
        'inside a cooldown',
        'hops per URL',
        'script calls per URL',
        'free host through after, s',
        'host through after, s',
        '÷ ideal',
        'worker CPU ms / URL',
        'Redis CPU ms / URL',
      ],
      rows,
      figures: runs.flatMap(({ size, workers, result }) => {
        const of = `${size.urls.toLocaleString('en-US')} URLs, ${workers} ${workers === 1 ? 'worker' : 'workers'}`;
        return [
          { name: `${of}: hops per URL`, value: result.hops, unit: '', target: { atMost: 1.4 } },
          { name: `${of}: script calls per URL`, value: result.gateCalls, unit: '', target: { atMost: 6 } },
          { name: `${of}: free host through`, value: result.otherSeconds, unit: 's', target: { atMost: 1 } },
          {
            name: `${of}: time ÷ ideal`,
            value: result.seconds / idealOf(size),
            unit: '',
            target: { atMost: 1.1 },
          },
        ];
      }),
    };
  },
};
