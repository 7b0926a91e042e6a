import type { Bench, Cell } from './harness/bench.ts';
import type { Lab } from './harness/lab.ts';
import type { OriginProcess } from './harness/origin-process.ts';

const SLOW_URLS = 10_000;
const FAST_HOSTS = 50;
const FAST_URLS = 3_000;
const SLOTS = 50;
const SLOW_LATENCY_MS = 2_000;
const PEER_BUDGET_MS = 20_000;
const BUDGET_MS = 60_000;
const FAST = Array.from({ length: FAST_HOSTS }, (_, n) => `fast-${n + 1}`);
const POLICY = 'concurrency: 4\npace:\n  learn: off\n';

interface Finish {
  readonly served: number;
  /** From the first request of anybody to the last one of a fast host, s. */
  readonly seconds: number;
}

async function finishOfFast(origin: OriginProcess): Promise<Finish> {
  const fast = await origin.judge(FAST);
  const { hosts } = await origin.stats();
  const firsts = hosts.flatMap(({ firstAtMs }) => (firstAtMs === null ? [] : [firstAtMs]));
  const lasts = hosts.flatMap(({ host, lastAtMs }) =>
    lastAtMs === null || !FAST.includes(host) ? [] : [lastAtMs],
  );
  return { served: fast.served, seconds: (Math.max(...lasts) - Math.min(...firsts)) / 1000 };
}

async function ofHoldoff(
  lab: Lab,
  origin: OriginProcess,
  slowInFront: boolean,
): Promise<Finish & { readonly hops: number }> {
  await origin.reset();
  const fleet = await lab.fleet({ originPort: origin.port, policy: POLICY, concurrency: SLOTS });
  if (slowInFront) await fleet.enter('slow', origin.urls(['slow'], SLOW_URLS));
  await fleet.enter('fast', fastUrls(origin));
  await fleet.startWorkers(1);
  await fleet.ended('fast', FAST_URLS, BUDGET_MS);
  const finish = await finishOfFast(origin);
  const hops = await fleet.hops();
  await fleet.stopWorkers();
  return { ...finish, hops };
}

/** Hosts in turn. */
function fastUrls(origin: OriginProcess): string[] {
  const hosts = FAST.map((name) => origin.urlOf(name));
  const pages = FAST_URLS / FAST_HOSTS;
  return Array.from({ length: pages }, (_, n) => hosts.map((host) => `${host}/page/${n}`)).flat();
}

export const bench: Bench = {
  name: 'head-of-line',
  about: `When ${FAST_HOSTS} fast hosts with ${FAST_URLS.toLocaleString('en-US')} URLs are through, with and without ${SLOW_URLS.toLocaleString('en-US')} URLs of a host that takes ${SLOW_LATENCY_MS / 1000} s for each answer in front of them; ${SLOTS} requests at once, 4 per host. The queue baseline ends after ${PEER_BUDGET_MS / 1000} s.`,
  run: async (lab) => {
    const origin = await lab.origin({
      hosts: [
        { name: 'slow', latency: { kind: 'fixed', ms: SLOW_LATENCY_MS } },
        ...FAST.map((name) => ({ name, latency: { kind: 'fixed', ms: 10 } }) as const),
      ],
    });
    const redisUrl = (await lab.redis()).url;
    const urls = [...origin.urls(['slow'], SLOW_URLS), ...fastUrls(origin)];
    await lab.peer({ peer: 'bullmq-got', urls, slots: SLOTS, budgetMs: PEER_BUDGET_MS, redisUrl });
    const queue = await origin.judge(FAST);

    const without = await ofHoldoff(lab, origin, false);
    const behind = await ofHoldoff(lab, origin, true);
    const rows: Cell[][] = [
      ['bullmq-got, slow in front', queue.served, null, null],
      ['Holdoff, fast alone', without.served, without.seconds, without.hops / FAST_URLS],
      ['Holdoff, slow in front', behind.served, behind.seconds, null],
    ];
    return {
      columns: ['client', 'fast URLs served', 'fast through after, s', 'hops per URL'],
      rows,
      figures: [
        { name: 'fast URLs served', value: behind.served, unit: '', target: { atLeast: FAST_URLS } },
        {
          name: 'time with ÷ without',
          value: behind.seconds / without.seconds,
          unit: '',
          target: { atMost: 1.1 },
        },
      ],
    };
  },
};
