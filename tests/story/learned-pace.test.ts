import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SeenRequest } from '@holdoff/sample-origin';
import { type Fleet, startFleet } from './fleet.ts';

/**
 * The pace of a host as its server sees it, with real processes and sockets. What takes longer is played in the
 * simulator (apps/cli/src/simulate/learned-pace.test.ts) and measured by the benches.
 */
const RECOVERY_MS = 10_000;
const HALVES_AT_MS = 20_000;
const RECOVERS_AT_MS = 55_000;

const POLICY = `
preset: balanced
concurrency: 16
retry_after: { pad: { wake_jitter: 1s } }
batch_tokens: { share: 1, least: 100 }
circuit: off
hosts:
  HOST:halving: { pace: { learn: { start: 8/s, recovery: { least: ${RECOVERY_MS}ms, pauses: 1, most: ${RECOVERY_MS}ms } } } }
  HOST:spaced: { pace: { interval: 700ms } }
  HOST:crawled: { pace: { learn: { start: 20/s } } }
  HOST:hinted: { pace: { learn: { start: 50/s } } }
  HOST:burdened: { pace: { learn: { start: 4/s } } }
  HOST:fixed: { pace: { learn: { start: 20/s } } }
  HOST:reopened: { pace: { learn: { start: 5/s, ceiling: 5/s } } }
  ${[1, 2, 3, 4, 5, 6].map((n) => `HOST:together-${n}: { pace: { learn: { start: 5/s } } }`).join('\n  ')}
`;

const refusedFirst = [
  {
    path: '/p/0',
    times: 1,
    answer: { kind: 'status' as const, status: 429, headers: { 'Retry-After': '2' } },
  },
];

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 2,
    environment: { WORKER_CONCURRENCY: '40' },
    hosts: [
      {
        name: 'halving',
        limiter: {
          kind: 'token_bucket',
          perSecond: 10,
          burst: 5,
          changes: [
            { atMs: HALVES_AT_MS, factor: 0.5 },
            { atMs: RECOVERS_AT_MS, factor: 1 },
          ],
        },
        latency: { kind: 'uniform', minMs: 20, maxMs: 80 },
      },
      { name: 'spaced' },
      { name: 'crawled', robots: 'User-agent: *\nCrawl-delay: 1\n' },
      {
        name: 'hinted',
        limiter: { kind: 'fixed_window', limit: 5, windowMs: 3_000 },
        advertise: 'ratelimit',
      },
      { name: 'burdened', latency: { kind: 'load', baseMs: 40, perInFlightMs: 150 } },
      { name: 'fixed' },
      { name: 'reopened', rules: refusedFirst },
      ...[1, 2, 3, 4, 5, 6].map((n) => ({ name: `together-${n}`, rules: refusedFirst })),
    ],
  });
  // The limits begin now, and not when the processes began to start.
  fleet.origin.reset();
}, 180_000);
afterAll(() => fleet?.stop());

const seenOf = (host: string): readonly SeenRequest[] =>
  fleet.origin.log().filter((request) => request.host === host && request.path.startsWith('/p/'));
const pages = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => fleet.url(host, `/p/${n}`));
/** By the instants of admission: what a busy machine does to a request afterwards is no fault of the pace. */
const gaps = (seen: readonly SeenRequest[]): number[] => {
  const admitted = seen.map(({ admittedAtMs }) => admittedAtMs ?? 0).toSorted((a, b) => a - b);
  return admitted.slice(1).map((at, n) => at - (admitted[n] ?? 0));
};
const servedBetween = (host: string, startedAtMs: number, fromMs: number, toMs: number): number =>
  seenOf(host).filter(
    ({ status, receivedAtMs }) =>
      status === 200 && receivedAtMs >= startedAtMs + fromMs && receivedAtMs < startedAtMs + toMs,
  ).length;

test.concurrent('a limit that halves and recovers is followed both ways', async () => {
  const startedAtMs = Date.now();
  await fleet.enqueue('halving', pages('halving', 1_200));
  const endMs = RECOVERS_AT_MS + 3 * RECOVERY_MS;
  await fleet.until(
    'the third recovery is over',
    async () => (Date.now() - startedAtMs > endMs ? true : undefined),
    endMs + 30_000,
  );
  /** Served per second, pauses included. */
  const rate = (fromMs: number, toMs: number): number =>
    (servedBetween('halving', startedAtMs, fromMs, toMs) * 1_000) / (toMs - fromMs);
  const series = Array.from({ length: endMs / 4_000 }, (_, n) => rate(n * 4_000, (n + 1) * 4_000));
  const halved = rate(HALVES_AT_MS + 2 * RECOVERY_MS, RECOVERS_AT_MS);
  expect(halved, String(series)).toBeGreaterThan(2.5);
  expect(halved, String(series)).toBeLessThan(6);
  // More than the halved limit would ever have given.
  expect(rate(endMs - 2 * RECOVERY_MS, endMs), String(series)).toBeGreaterThan(6);
  const refused = seenOf('halving').filter(({ status }) => status === 429);
  expect(refused.length / seenOf('halving').length).toBeLessThan(0.05);
  // Admitted while the refusal was on its way to us, and never after.
  const inCooldown = seenOf('halving').map(({ admittedInCooldownMs }) => admittedInCooldownMs ?? 0);
  expect(Math.max(...inCooldown)).toBeLessThan(1_000);
}, 180_000);

test.concurrent('a configured interval is kept by the whole fleet', async () => {
  await fleet.enqueue('spaced', pages('spaced', 12));
  await fleet.ended('spaced', 12);
  expect(Math.min(...gaps(seenOf('spaced')))).toBeGreaterThanOrEqual(700);
});

test.concurrent('a Crawl-delay of robots.txt is a pace, whatever was learned', async () => {
  await fleet.enqueue('crawled', pages('crawled', 10));
  await fleet.ended('crawled', 10);
  expect(Math.min(...gaps(seenOf('crawled')))).toBeGreaterThanOrEqual(1_000);
  const host = await fleet.gate.inspectHost(fleet.hostKey('crawled'));
  expect(host?.pace.effectiveIntervalMs).toBe(1_000);
});

test.concurrent('with nothing left by the RateLimit header nobody asks before the reset', async () => {
  await fleet.enqueue('hinted', pages('hinted', 25));
  const batch = await fleet.ended('hinted', 25);
  expect(batch).toMatchObject({ jobs: { done: 25 }, throttled: 0 });
  expect(seenOf('hinted').filter(({ status }) => status !== 200)).toEqual([]);
});

test.concurrent('a host that slows down under load is not driven further', async () => {
  await fleet.enqueue('burdened', pages('burdened', 250));
  await fleet.ended('burdened', 250, 120_000);
  const seen = seenOf('burdened').slice(150);
  const mean = seen.reduce((sum, { inFlight }) => sum + inFlight, 0) / seen.length;
  // All sixteen slots would be taken: each page would take 2.4 s in place of 0.2 s.
  expect(mean).toBeLessThan(8);
}, 150_000);

test.concurrent('a fixed rate holds, and says that it does', async () => {
  await fleet.enqueue('fixed', pages('fixed', 3));
  await fleet.ended('fixed', 3);
  const key = fleet.hostKey('fixed');
  await fleet.gate.setPaceOverride(key, { kind: 'fixed', intervalMs: 500 });
  await fleet.enqueue(
    'fixed',
    Array.from({ length: 10 }, (_, n) => fleet.url('fixed', `/p/later-${n}`)),
  );
  await fleet.ended('fixed', 13);
  expect(Math.min(...gaps(seenOf('fixed').slice(3)))).toBeGreaterThanOrEqual(500);
  const host = await fleet.gate.inspectHost(key);
  expect(host?.pace).toMatchObject({ effectiveIntervalMs: 500, override: { kind: 'fixed' } });
  expect(host?.pace.heldBack).toMatch(/fixed the pace/);
});

test.concurrent('after a pause one request goes first, and no second holds more than the pace and one', async () => {
  await fleet.enqueue('reopened', pages('reopened', 40));
  await fleet.ended('reopened', 40);
  const seen = seenOf('reopened');
  const refused = seen.find(({ status }) => status === 429);
  const later = seen.filter(({ admittedAtMs }) => (admittedAtMs ?? 0) > (refused?.answeredAtMs ?? 0));
  const admitted = later.map(({ admittedAtMs }) => admittedAtMs ?? 0);
  expect(later.length).toBeGreaterThan(25);
  expect((admitted[0] ?? 0) - (refused?.answeredAtMs ?? 0)).toBeGreaterThanOrEqual(2_000);
  // The second one waits until the first has come back.
  expect(admitted[1]).toBeGreaterThanOrEqual(later[0]?.answeredAtMs ?? Infinity);
  const most = Math.max(...admitted.map((at) => admitted.filter((t) => t >= at && t < at + 1_000).length));
  expect(most).toBeLessThanOrEqual(6);
});

test.concurrent('hosts that close at one time do not open at one time', async () => {
  const names = [1, 2, 3, 4, 5, 6].map((n) => `together-${n}`);
  await fleet.enqueue(
    'together',
    names.flatMap((name) => pages(name, 3)),
  );
  await fleet.ended('together', 18);
  const waits = names.map((name) => {
    const seen = seenOf(name);
    const at = seen.findIndex(({ status }) => status === 429);
    const next = seen.find(({ admittedAtMs }) => (admittedAtMs ?? 0) > (seen[at]?.answeredAtMs ?? 0) + 500);
    return (next?.admittedAtMs ?? 0) - (seen[at]?.answeredAtMs ?? 0);
  });
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(2_900);
  expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(150);
});
