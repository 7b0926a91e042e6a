import {
  type HostDescriptionInput,
  type SeenRequest,
  createVirtualHost,
  parseDescription,
} from '@holdoff/sample-origin';
import { PRESETS } from '@holdoff/throttle-core';
import { EPOCH_MS, type HostReport, seededRandom, simulate } from '@holdoff/throttle-core/simulate';
import type { Bench, Cell, Figure } from './harness/bench.ts';
import type { Verdict } from './harness/origin-process.ts';

const URLS = 300;
const PER_SECOND = 10;
const WORKERS = 2;
const CONCURRENCY = 8;
const BUDGET_MS = 5 * (URLS / PER_SECOND) * 1000;
/** The same scenario differs by this much between two runs of the simulator; the mean is held against reality. */
const SEEDS = [1, 2, 3, 4, 5];

const latency = { kind: 'uniform', minMs: 20, maxMs: 80 } as const;
const penalty = {
  kind: 'penalty',
  perSecond: PER_SECOND,
  burst: PER_SECOND,
  penaltyMs: 2_000,
  extendMs: 200,
  penaltyMostMs: 30_000,
} as const;

const HOSTS: readonly HostDescriptionInput[] = [
  { name: 'penalty', limiter: penalty, latency },
  { name: 'penalty-silent', limiter: penalty, latency, refusal: { retryAfter: 'absent' } },
  {
    name: 'token-bucket',
    limiter: { kind: 'token_bucket', perSecond: PER_SECOND, burst: PER_SECOND },
    latency,
  },
  {
    name: 'fixed-window',
    limiter: { kind: 'fixed_window', limit: PER_SECOND * 5, windowMs: 5_000 },
    latency,
  },
  {
    name: 'sliding-window',
    limiter: { kind: 'sliding_window', limit: PER_SECOND * 5, windowMs: 5_000 },
    latency,
  },
  {
    name: 'sliding-window-503-silent',
    limiter: { kind: 'sliding_window', limit: PER_SECOND * 5, windowMs: 5_000 },
    latency,
    refusal: { status: 503, retryAfter: 'absent' },
  },
  {
    name: 'two-at-a-time',
    limiter: { kind: 'concurrency', limit: 2 },
    latency: { kind: 'uniform', minMs: 150, maxMs: 250 },
  },
  { name: 'slower-under-load', latency: { kind: 'load', baseMs: 60, perInFlightMs: 60 } },
];

interface Pair {
  readonly name: string;
  readonly real: Verdict;
  readonly simulated: { readonly seconds: number; readonly throttled: number };
}

export const bench: Bench = {
  name: 'simulator-vs-reality',
  about: `${HOSTS.length} hosts of about ${PER_SECOND} requests/s with ${URLS} URLs each, ${WORKERS} workers with ${CONCURRENCY} hands each, all hosts new: once for real, and ${SEEDS.length} times in virtual time with other random numbers, and the delays between admission and receipt that were measured. Time is from the first to the last request of a host.`,
  run: async (lab) => {
    const origin = await lab.origin({ hosts: [...HOSTS] });
    const fleet = await lab.fleet({ originPort: origin.port, concurrency: CONCURRENCY });
    await fleet.startWorkers(WORKERS);
    const names = HOSTS.map(({ name }) => name);
    await fleet.addToInbox('reality', origin.urls(names, URLS));
    await fleet.ended('reality', URLS * HOSTS.length, BUDGET_MS);

    const sendMs = delaysOf(await origin.log());
    const runs = SEEDS.map((seed) => play(seed, sendMs));
    const pairs: Pair[] = [];
    for (const name of names) {
      pairs.push({ name, real: await origin.judge([name]), simulated: meanOf(runs, name) });
    }
    return {
      columns: ['host', 'served', 'seconds', 'simulated', 'difference %', '429s', 'simulated 429s'],
      rows: pairs.map(row),
      notes: [
        `Half of the requests arrived within ${share(sendMs, 0.5)} ms of their admission, 95 % within ${share(sendMs, 0.95)} ms.`,
      ],
      figures: pairs.flatMap(figuresOf),
    };
  },
};

/**
 * From the admission to the receipt at the origin, as both wrote it down: connecting, sending, and whatever else this
 * machine is busy with. The simulator cannot know it, and a host without slack is met by it.
 */
function delaysOf(log: readonly SeenRequest[]): number[] {
  return log.flatMap(({ admittedAtMs, receivedAtMs }) =>
    admittedAtMs === null ? [] : Math.max(0, receivedAtMs - admittedAtMs),
  );
}

function play(seed: number, sendMs: readonly number[]): readonly HostReport[] {
  const draw = seededRandom(seed + 1_000);
  const { hosts } = parseDescription({ hosts: [...HOSTS] });
  const result = simulate({
    hosts: hosts.map((host) => ({
      name: host.name,
      urls: URLS,
      policy: PRESETS.balanced,
      origin: createVirtualHost(host, { draw, epochMs: EPOCH_MS }),
      learnedPerSecond: null,
    })),
    fleet: { workers: WORKERS, concurrency: CONCURRENCY, lateMs: 5, sendMs, overheadMs: 3 },
    tokens: null,
    untilMs: BUDGET_MS,
    random01: seededRandom(seed),
  });
  return result.hosts;
}

function share(delays: readonly number[], part: number): string {
  const sorted = delays.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(1);
}

function meanOf(runs: readonly (readonly HostReport[])[], name: string): Pair['simulated'] {
  const reports = runs.flatMap((hosts) => hosts.filter((host) => host.name === name));
  const mean = (of: (report: HostReport) => number): number =>
    reports.reduce((sum, report) => sum + of(report), 0) / reports.length;
  return {
    seconds: mean((report) => (report.lastDoneMs ?? 0) / 1000),
    throttled: mean((report) => report.throttled),
  };
}

const differenceOf = ({ real, simulated }: Pair): number => (real.seconds / simulated.seconds - 1) * 100;

function row(pair: Pair): Cell[] {
  const { name, real, simulated } = pair;
  const throttled = Math.round(real.throttledShare * real.requests);
  return [
    name,
    real.served,
    real.seconds,
    simulated.seconds,
    differenceOf(pair),
    throttled,
    simulated.throttled,
  ];
}

function figuresOf(pair: Pair): Figure[] {
  return [
    { name: `${pair.name}: URLs served`, value: pair.real.served, unit: '', target: { atLeast: URLS } },
    {
      name: `${pair.name}: reality against the simulator`,
      value: Math.abs(differenceOf(pair)),
      unit: '%',
      target: { atMost: 10 },
    },
  ];
}
