import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { HostWatch } from './host-watch.ts';
import {
  admittedInCooldown,
  cooldownMovedBack,
  notEndedOnce,
  overCap,
  overspent,
  pagesOf,
  secretsIn,
  sentTwice,
  tooManyAttempts,
} from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

const HARM_MS = 20_000;
const CAP = 3;
const ATTEMPTS_MOST = 10;
const HOSTS = ['free', 'slow', 'limited', 'failing'] as const;
const URLS_EACH = 75;
const SECRETS = {
  header: 'planted-authorization-0815',
  query: 'planted-query-4711',
  cookie: 'planted-cookie-2342',
};
const POLICY = `
preset: balanced
concurrency: ${CAP}
attempt_budget: 2s
headroom: 0s
attempts: { max_total: ${ATTEMPTS_MOST} }
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 500ms }
batch_tokens: { share: 1 }
host_tokens: off
pace: { rate: 5/s, learn: off }
circuit: { open: 1s, growth: 1 }
ramp: off
`;

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A change is judged by the same faults each time it is checked; by hand every run meets others. */
const CI_SEED = 24_244;
const ownSeed = process.env['CI'] === 'true' ? CI_SEED : Date.now() % 1_000_000;
const seed = Number(process.env['FAULT_SEED'] ?? ownSeed);
let fleet: Fleet;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-faults-'));
  const headers = join(folder, 'headers.json');
  await writeFile(headers, JSON.stringify({ partner: { authorization: `Bearer ${SECRETS.header}` } }));
  const page = { cookies: [`sid=${SECRETS.cookie}`] };
  const failing = { path: '/*', share: 0.15, answer: { kind: 'status' as const, status: 503 } };
  fleet = await startFleet({
    policy: POLICY,
    schedulers: 2,
    workers: 0,
    keepLogs: true,
    environment: {
      HEADERS_FILE: headers,
      LOG_LEVEL: 'info',
      LOCK_MS: '2000',
      STALLED_CHECK_MS: '500',
      WORKER_CONCURRENCY: '6',
    },
    hosts: [
      { name: 'free', page },
      { name: 'slow', page, latency: { kind: 'uniform', minMs: 100, maxMs: 900 } },
      { name: 'limited', page, limiter: { kind: 'token_bucket', perSecond: 4, burst: 4 } },
      { name: 'failing', page, rules: [{ ...failing, path: '/p/*' }] },
    ],
  });
}, 60_000);
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Harms the fleet for a while, each fault drawn by the seed, and leaves it healed. */
async function harm(random: () => number): Promise<{ readonly done: string[]; readonly frozen: number }> {
  const done: string[] = [];
  let frozen = 0;
  let born = 0;
  const thawing: Promise<void>[] = [];
  const workers: ChildProcess[] = [];
  const start = async (): Promise<void> => {
    born += 1;
    workers.push(await fleet.workerNamed(`w${born}`));
  };
  await Promise.all([start(), start(), start()]);
  const take = (): ChildProcess | undefined => workers.splice(Math.floor(random() * workers.length), 1)[0];
  const ended = async (child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  };
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'worker kill -9': async () => {
      await ended(take(), 'SIGKILL');
      await start();
    },
    'worker SIGTERM': async () => {
      const leaving = ended(take(), 'SIGTERM');
      await start();
      await leaving;
    },
    // Others go on meanwhile, so that faults overlap. Half of them outlive lock and lease.
    'worker frozen': async () => {
      const child = take();
      if (child === undefined) return;
      frozen += 1;
      child.kill('SIGSTOP');
      const thaw = async (): Promise<void> => {
        await wait(random() < 0.5 ? 500 : 8_000);
        child.kill('SIGCONT');
        workers.push(child);
      };
      thawing.push(thaw());
    },
    'scripts flushed': async () => void (await fleet.client.script('FLUSH')),
    'Redis kill -9': async () => {
      await fleet.redis.kill();
      await wait(random() * 1_500);
      await fleet.redis.restart();
    },
  };
  const until = performance.now() + HARM_MS;
  // Each kind once in each round, in an order of its own.
  while (performance.now() < until) {
    const round = Object.keys(faults);
    while (round.length > 0) {
      const [name = ''] = round.splice(Math.floor(random() * round.length), 1);
      done.push(name);
      await faults[name]?.();
      await wait(200 + random() * 800);
    }
  }
  await Promise.all(thawing);
  if (workers.length < 2) await start();
  return { done, frozen };
}

/** Everything in Redis but the jobs themselves and their way in: a URL's query is the customer's own. */
async function valuesInRedis(): Promise<string> {
  const values: string[] = [];
  for await (const keys of fleet.client.scanStream({ count: 500 })) {
    for (const key of keys as string[]) {
      if (/:urls:|:inbox$/.test(key)) continue;
      const dumped = await fleet.client.dumpBuffer(key);
      values.push(`${key} ${dumped?.toString('latin1') ?? ''}`);
    }
  }
  return values.join('\n');
}

test(`all holds under random faults (FAULT_SEED=${seed})`, async () => {
  console.log(`random faults: FAULT_SEED=${seed}`);
  const urls = HOSTS.flatMap((host) =>
    Array.from({ length: URLS_EACH }, (_, n) => fleet.url(host, `/p/${n}?key=${SECRETS.query}`)),
  );
  const watch = new HostWatch(fleet, HOSTS);
  await fleet.enqueue('random', urls, { headers: 'partner' });
  const { done, frozen } = await harm(seeded(seed));
  const { ids, batch, jobs } = await quietEnd(fleet, 'random', urls, HOSTS, 120_000);
  const samples = await watch.stop();
  const log = pagesOf(fleet.origin.log());
  const results = (await fleet.results('random')).map(({ job }) => job);
  const story = `FAULT_SEED=${seed}: ${done.join(', ')}`;
  expect(
    [
      ...admittedInCooldown(log, samples),
      ...cooldownMovedBack(samples),
      ...notEndedOnce(ids, jobs, batch, results),
      ...sentTwice(log),
      ...overCap(log, CAP, frozen),
      ...overspent(log, jobs, batch),
      ...tooManyAttempts(log, ATTEMPTS_MOST),
      ...secretsIn({ logs: fleet.logged() }, Object.values(SECRETS)),
      ...secretsIn({ Redis: await valuesInRedis() }, Object.values(SECRETS)),
      ...secretsIn({ 'the whole of Redis': await wholeQueue() }, [SECRETS.header, SECRETS.cookie]),
    ],
    story,
  ).toEqual([]);
  expect(new Set(done).size, story).toBe(5);
}, 300_000);

/** The queue's own keys: they may hold URLs, and nothing that the workers know. */
async function wholeQueue(): Promise<string> {
  const values: string[] = [];
  for (const key of await fleet.client.keys('*:urls:*')) {
    const dumped = await fleet.client.dumpBuffer(key);
    values.push(dumped?.toString('latin1') ?? '');
  }
  return values.join('\n');
}
