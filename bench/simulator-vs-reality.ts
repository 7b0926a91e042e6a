import {
  type HostDescriptionInput,
  type SeenRequest,
  createVirtualHost,
  parseDescription,
} from '@holdoff/sample-origin';
import { NEW_PACE, PRESETS, commitPace } from '@holdoff/throttle-core';
import { EPOCH_MS, type HostReport, seededRandom, simulate } from '@holdoff/throttle-core/simulate';
import type { Bench, Cell, Figure } from './harness/bench.ts';
import type { OriginProcess, Verdict } from './harness/origin-process.ts';

const URLS = 300;
const PER_SECOND = 10;
const WORKERS = 2;
const CONCURRENCY = 8;
const BUDGET_MS = 5 * (URLS / PER_SECOND) * 1000;
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
/** One event more or less is 15 % of such a run, and chance decides it: both sides are means. */
const ROUNDS = 3;

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

/** A new host of this kind for each round. */
const copyOf = (kind: string, round: number): string => `${kind}-${round}`;
const EACH_ROUND = Array.from({ length: ROUNDS }, (_, at) => at + 1);

/** Paced by the policy and limited by nothing: how late its admissions are is how late this machine is. */
const METRONOME = 'metronome';
const BEAT_MS = 100;
/** So late is only the first admission of a round. */
const BETWEEN_ROUNDS_MS = 3_000;

interface Figures {
  readonly served: number;
  readonly seconds: number;
  readonly refused: number;
}

interface Pair {
  readonly name: string;
  readonly real: Figures;
  readonly simulated: Figures;
}

export const bench: Bench = {
  name: 'simulator-vs-reality',
  about: `${HOSTS.length} hosts of about ${PER_SECOND} requests/s with ${URLS} URLs each, ${WORKERS} workers with ${CONCURRENCY} hands each, all hosts new: ${ROUNDS} times for real, and ${SEEDS.length} times in virtual time with other random numbers, and with the delays that were measured meanwhile: of admissions, at a host of a known pace, and from admission to receipt. Time is from the first to the last request of a host, the mean of all runs.`,
  run: async (lab) => {
    const origin = await lab.origin({ hosts: [...described(), { name: METRONOME, latency }] });
    const beat = `hosts: { "${new URL(origin.urlOf(METRONOME)).hostname}": { pace: { learn: off, interval: ${BEAT_MS}ms } } }\n`;
    const policy = `preset: balanced\n${beat}`;
    const fleet = await lab.fleet({ originPort: origin.port, concurrency: CONCURRENCY, policy });
    await fleet.startWorkers(WORKERS);
    for (const round of EACH_ROUND) {
      const names = [...HOSTS.map(({ name }) => copyOf(name, round)), METRONOME];
      await fleet.addToInbox(copyOf('reality', round), inTurn(origin, names));
      await fleet.ended(copyOf('reality', round), URLS * names.length, BUDGET_MS);
    }

    const log = await origin.log();
    const delays = { sendMs: sendsOf(log), lateMs: latenessOf(log) };
    const runs = SEEDS.map((seed) => play(seed, delays));
    const pairs: Pair[] = [];
    for (const { name } of HOSTS) {
      const real = await Promise.all(
        EACH_ROUND.map(async (round) => {
          const copy = copyOf(name, round);
          const refused = log.filter(({ host, answer }) => host === copy && answer === 'refused').length;
          return seenAs(await origin.judge([copy]), refused);
        }),
      );
      pairs.push({
        name,
        real: meanOf(real),
        simulated: meanOf(
          runs
            .flat()
            .filter((report) => report.name === name)
            .map(playedAs),
        ),
      });
    }
    return {
      columns: ['host', 'served', 'seconds', 'simulated', 'difference %', 'refused', 'refused, simulated'],
      rows: pairs.map(row),
      notes: [
        `Half of the admissions came within ${part(delays.lateMs, 0.5)} ms of their instant, 95 % within ${part(delays.lateMs, 0.95)} ms; half of the requests arrived within ${part(delays.sendMs, 0.5)} ms of their admission, 95 % within ${part(delays.sendMs, 0.95)} ms.`,
      ],
      figures: pairs.flatMap(figuresOf),
    };
  },
};

/**
 * From the admission to the receipt at the origin, as both wrote it down: connecting, sending, and whatever else this
 * machine is busy with. The simulator cannot know it, and a host without slack is met by it.
 */
function sendsOf(log: readonly SeenRequest[]): number[] {
  return log.flatMap(({ admittedAtMs, receivedAtMs }) =>
    admittedAtMs === null ? [] : Math.max(0, receivedAtMs - admittedAtMs),
  );
}

/** The gate's own arithmetic over the admissions of the host whose pace is known. */
function latenessOf(log: readonly SeenRequest[]): number[] {
  const admitted = log
    .filter(({ host, admittedAtMs }) => host === METRONOME && admittedAtMs !== null)
    .map(({ admittedAtMs }) => admittedAtMs ?? 0)
    .toSorted((a, b) => a - b);
  let pace = NEW_PACE;
  return admitted.flatMap((atMs, at) => {
    const lateMs = Math.max(0, atMs - pace.nextAtMs);
    pace = commitPace(pace, { paceIntervalMs: BEAT_MS, learn: null, ramp: null }, atMs).state;
    return at === 0 || lateMs > BETWEEN_ROUNDS_MS ? [] : lateMs;
  });
}

interface Delays {
  readonly sendMs: readonly number[];
  readonly lateMs: readonly number[];
}

function play(seed: number, delays: Delays): readonly HostReport[] {
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
    fleet: { workers: WORKERS, concurrency: CONCURRENCY, ...delays, overheadMs: 3 },
    tokens: null,
    untilMs: BUDGET_MS,
    random01: seededRandom(seed),
  });
  return result.hosts;
}

function part(delays: readonly number[], of: number): string {
  const sorted = delays.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length * of)] ?? 0).toFixed(1);
}

const seenAs = ({ served, seconds }: Verdict, refused: number): Figures => ({ served, seconds, refused });
const playedAs = ({ done, lastDoneMs, requests }: HostReport): Figures => ({
  served: done,
  seconds: (lastDoneMs ?? 0) / 1_000,
  refused: requests - done,
});

function meanOf(all: readonly Figures[]): Figures {
  const mean = (of: (one: Figures) => number): number =>
    all.reduce((sum, one) => sum + of(one), 0) / all.length;
  return {
    served: mean((one) => one.served),
    seconds: mean((one) => one.seconds),
    refused: mean((one) => one.refused),
  };
}

/** Hosts in turn, as lists of several hosts are. */
function inTurn(origin: OriginProcess, names: readonly string[]): string[] {
  return Array.from({ length: URLS }, (_, n) =>
    names.map((name) => `${origin.urlOf(name)}/page/${n}`),
  ).flat();
}

const described = (): HostDescriptionInput[] => HOSTS.map((host) => ({ ...host, count: ROUNDS }));

const differenceOf = ({ real, simulated }: Pair): number => (real.seconds / simulated.seconds - 1) * 100;

function row(pair: Pair): Cell[] {
  const { name, real, simulated } = pair;
  return [
    name,
    real.served,
    real.seconds,
    simulated.seconds,
    differenceOf(pair),
    real.refused,
    simulated.refused,
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
