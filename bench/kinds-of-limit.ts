import type { HostDescriptionInput } from '@holdoff/sample-origin';
import type { Bench, Cell, Figure } from './harness/bench.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess, Verdict } from './harness/origin-process.ts';

const URLS = 300;
const PER_SECOND = 10;
const BURST = 10;
const SLOTS = 16;
const IDEAL_SECONDS = (URLS - BURST) / PER_SECOND;
const BUDGET_MS = 4 * IDEAL_SECONDS * 1000;
/** Each has a fleet of its own; with more at once the machine would be the limit. */
const AT_ONCE = 2;

type Limiter = HostDescriptionInput['limiter'];
const LIMITERS: Readonly<Record<string, Limiter>> = {
  penalty: {
    kind: 'penalty',
    perSecond: PER_SECOND,
    burst: BURST,
    penaltyMs: 2_000,
    extendMs: 200,
    penaltyMostMs: 30_000,
  },
  'token-bucket': { kind: 'token_bucket', perSecond: PER_SECOND, burst: BURST },
  'fixed-window': { kind: 'fixed_window', limit: PER_SECOND, windowMs: 1_000 },
  'sliding-window': { kind: 'sliding_window', limit: PER_SECOND, windowMs: 1_000 },
};

interface Case {
  readonly name: string;
  readonly silent: boolean;
  readonly host: HostDescriptionInput;
}

const CASES: readonly Case[] = Object.entries(LIMITERS).flatMap(([kind, limiter]) =>
  [false, true].map((silent) => {
    const name = silent ? `${kind}-silent` : kind;
    const latency = { kind: 'uniform', minMs: 20, maxMs: 80 } as const;
    const refusal = silent ? { retryAfter: 'absent' as const } : {};
    return { name, silent, host: { name, limiter, latency, refusal } };
  }),
);

async function play(lab: Lab, origin: OriginProcess, { name }: Case): Promise<[Verdict, Verdict]> {
  const fleet = await lab.fleet({ originPort: origin.port, concurrency: SLOTS / 2 });
  await fleet.startWorkers(2);
  const run = async (batch: string): Promise<Verdict> => {
    await fleet.addToInbox(batch, origin.urls([name], URLS));
    await fleet.ended(batch, URLS, BUDGET_MS);
    return origin.judge([name]);
  };
  const cold = await run('cold');
  await origin.reset();
  const warm = await run('warm');
  await fleet.stopWorkers();
  return [cold, warm];
}

export const bench: Bench = {
  name: 'kinds-of-limit',
  about: `${URLS} URLs of a host that allows ${PER_SECOND} requests/s, two worker processes with ${SLOTS / 2} slots each, for four kinds of limiter, with Retry-After and without any (silent). Ideal: ${IDEAL_SECONDS} s. Cold: the host is new. Warm: the same fleet, another ${URLS} URLs.`,
  run: async (lab) => {
    const rows: Cell[][] = [];
    const figures: Figure[] = [];
    for (let from = 0; from < CASES.length; from += AT_ONCE) {
      const now = CASES.slice(from, from + AT_ONCE);
      // An origin for each case, which forgets what it saw cold before it is asked again.
      const seen = await Promise.all(
        now.map(async (one) => {
          const origin = await lab.origin({ hosts: [one.host] });
          return play(lab, origin, one);
        }),
      );
      for (const [at, one] of now.entries()) {
        const [cold, warm] = seen[at] ?? [];
        if (cold === undefined || warm === undefined) continue;
        for (const [run, verdict] of [
          ['cold', cold],
          ['warm', warm],
        ] as const) {
          rows.push([
            `${one.name}, ${run}`,
            verdict.served,
            verdict.throttledShare * 100,
            verdict.afterNotice,
            verdict.seconds,
            verdict.seconds / IDEAL_SECONDS,
          ]);
          figures.push(...figuresOf(one, run, verdict));
        }
      }
    }
    return {
      columns: ['host', 'served', '429 %', 'inside a cooldown', 'seconds', '÷ ideal'],
      rows,
      figures,
    };
  },
};

function figuresOf({ name, silent }: Case, run: 'cold' | 'warm', seen: Verdict): Figure[] {
  const target = silent
    ? { ideals: 3, percent: 5 }
    : run === 'cold'
      ? { ideals: 2, percent: 3 }
      : { ideals: 1.15, percent: 1 };
  return [
    { name: `${name}, ${run}: URLs served`, value: seen.served, unit: '', target: { atLeast: URLS } },
    {
      name: `${name}, ${run}: time ÷ ideal`,
      value: seen.seconds / IDEAL_SECONDS,
      unit: '',
      target: { atMost: target.ideals },
    },
    {
      name: `${name}, ${run}: 429s`,
      value: seen.throttledShare * 100,
      unit: '%',
      target: { atMost: target.percent },
    },
    { name: `${name}, ${run}: inside a cooldown`, value: seen.afterNotice, unit: '', target: { atMost: 0 } },
  ];
}
