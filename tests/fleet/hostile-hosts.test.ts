import { readdirSync, readFileSync } from 'node:fs';
import type { HostDescriptionInput } from '@holdoff/sample-origin';
import type { StopReason } from '@holdoff/throttle-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { overCap } from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

/**
 * Healthy hosts beside hosts that do everything that a server can do to a client. What is measured is the healthy ones'
 * time with and without the others, and what the workers hold on to afterwards.
 */
const WORKERS = Number(process.env['FLEET_WORKERS'] ?? 4);
const MIB = 1_048_576;
const ATTEMPT_MS = 4_000;

const HEALTHY = Array.from({ length: 6 }, (_, n) => `healthy-${n}`);
const HEALTHY_URLS = 60;

type Answer = NonNullable<HostDescriptionInput['rules']>[number]['answer'];
interface Hostile {
  readonly name: string;
  readonly answer: Answer;
  /** How each of its URLs ends. retry_budget: it may come good, so it is tried again as far as the batch allows. */
  readonly ends: StopReason;
}

const HOSTILE: readonly Hostile[] = [
  { name: 'never', answer: { kind: 'never' }, ends: 'retry_budget' },
  {
    name: 'slow-headers',
    answer: { kind: 'slow_headers', everyMs: 100, lines: 1_000 },
    ends: 'retry_budget',
  },
  {
    name: 'slow-body',
    answer: { kind: 'slow_body', everyMs: 100, chunkBytes: 1, totalBytes: 100_000 },
    ends: 'retry_budget',
  },
  { name: 'interim', answer: { kind: 'informational', everyMs: 0, count: 10_000 }, ends: 'retry_budget' },
  { name: 'reset', answer: { kind: 'reset' }, ends: 'retry_budget' },
  { name: 'cut-length', answer: { kind: 'truncated_body', bytes: 20_000 }, ends: 'retry_budget' },
  {
    name: 'cut-chunks',
    answer: { kind: 'truncated_body', bytes: 20_000, framing: 'chunked' },
    ends: 'retry_budget',
  },
  { name: 'broken', answer: { kind: 'status', status: 500 }, ends: 'retry_budget' },
  { name: 'endless', answer: { kind: 'endless_body' }, ends: 'too_large' },
  { name: 'huge', answer: { kind: 'huge_body', bytes: 64 * MIB }, ends: 'too_large' },
  { name: 'headers', answer: { kind: 'huge_headers', bytes: 400_000 }, ends: 'too_large' },
  ...(['gzip', 'deflate', 'br', 'zstd'] as const).map((encoding): Hostile => ({
    name: `bomb-${encoding}`,
    answer: { kind: 'bomb', encoding, decodedBytes: 64 * MIB },
    ends: 'too_large',
  })),
  { name: 'loop', answer: { kind: 'redirect', hops: 2, loop: true }, ends: 'redirect_loop' },
  { name: 'challenge', answer: { kind: 'challenge' }, ends: 'blocked' },
];
/** 17 kinds: 204 hostile answers in a round, and more where a redirect makes several. */
const HOSTILE_URLS = 12;

const POLICY = `
preset: balanced
attempt_budget: ${ATTEMPT_MS / 1_000}s
concurrency: 2
batch_tokens: { share: 0, least: 0 }
host_tokens: off
pace: { learn: off }
ramp: off
body: { wire_max: 2MiB, decoded_max: 4MiB }
hosts:
${HEALTHY.map((name) => `  HOST:${name}: { concurrency: 4, pace: { rate: 20/s } }`).join('\n')}
`;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: WORKERS,
    environment: { WORKER_CONCURRENCY: '20' },
    hosts: [
      ...HEALTHY.map((name) => ({ name, latency: { kind: 'uniform' as const, minMs: 5, maxMs: 40 } })),
      ...HOSTILE.map(({ name, answer }) => ({ name, rules: [{ path: '/p/*', answer }] })),
    ],
  });
  // The origin packs its bombs when it is first asked for them, which takes seconds that are not the workers'.
  for (const { name, answer } of HOSTILE)
    if (answer.kind === 'bomb') await (await fetch(fleet.url(name, '/p/packed'))).body?.cancel();
}, 200_000);
afterAll(() => fleet?.stop());

const urlsOf = (hosts: readonly string[], count: number, round: string): string[] =>
  Array.from({ length: count }, (_, n) => hosts.map((host) => fleet.url(host, `/p/${round}-${n}`))).flat();

/** Enters the pages of the healthy hosts and returns how long it took until all of them were served. */
async function serveHealthy(round: string): Promise<number> {
  const urls = urlsOf(HEALTHY, HEALTHY_URLS, round);
  const beganAt = performance.now();
  await fleet.enqueue(round, urls);
  const { jobs } = await fleet.ended(round, urls.length, 60_000);
  expect(jobs).toMatchObject({ done: urls.length, stopped: 0 });
  return performance.now() - beganAt;
}

async function meetHostile(round: string, each = HOSTILE_URLS): Promise<readonly string[]> {
  const urls = urlsOf(
    HOSTILE.map(({ name }) => name),
    each,
    round,
  );
  await fleet.enqueue(round, urls);
  return urls;
}

/** What the worker processes hold: memory in MiB, and open files, most of them sockets. */
function held(): readonly { readonly rss: number; readonly files: number }[] {
  return fleet.workers.map(({ pid }) => ({
    rss: Math.round(Number(/VmRSS:\s+(\d+)/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024),
    files: readdirSync(`/proc/${pid}/fd`).length,
  }));
}

const most = (
  of: readonly { readonly rss: number; readonly files: number }[],
  what: 'rss' | 'files',
): number => Math.max(...of.map((each) => each[what]));

test('healthy hosts are served as if the hostile ones were not there', async () => {
  // Fresh processes are slow at what they do for the first time, and all of them at once.
  await serveHealthy('warm-up');
  await fleet.ended('cold', (await meetHostile('cold', 2 * Math.ceil(WORKERS / 4))).length, 60_000);
  const alone = await serveHealthy('alone');
  const urls = await meetHostile('beside');
  const beside = await serveHealthy('with-hostile');
  console.log(`healthy hosts: alone ${Math.round(alone)} ms, beside hostile ones ${Math.round(beside)} ms`);
  expect(beside).toBeLessThan(1.5 * alone + 1_000);
  await quietEnd(
    fleet,
    'beside',
    urls,
    HOSTILE.map(({ name }) => name),
    120_000,
  );
}, 240_000);

test('each kind of hostile answer ends as what it is, within its budget and the cap of its host', async () => {
  const results = await fleet.results('beside');
  for (const { name, ends } of HOSTILE) {
    const own = results.filter(({ url }) => url.startsWith(fleet.url(name, '/')));
    const reasons = own.map(({ reason }) => reason);
    expect({ name, reasons }).toEqual({ name, reasons: Array<StopReason>(HOSTILE_URLS).fill(ends) });
  }
  const names = new Set(HOSTILE.map(({ name }) => name));
  const seen = fleet.origin.log().filter((request) => names.has(request.host) && request.job !== null);
  expect(overCap(seen, 2)).toEqual([]);
  for (const { host, path, receivedAtMs, answeredAtMs } of seen) {
    const tookMs = (answeredAtMs ?? receivedAtMs) - receivedAtMs;
    expect(tookMs, `${host}${path}`).toBeLessThan(ATTEMPT_MS + 1_500);
  }
});

test('two hundred hostile answers in a row leave memory, sockets and leases where they were', async () => {
  const settled = async (): Promise<ReturnType<typeof held>> => {
    // Idle sockets are closed after four seconds, memory is given back when the collector has run.
    let best = held();
    const until = performance.now() + 6_000;
    while (performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      const now = held();
      best = best.map((one, at) => ({
        rss: Math.min(one.rss, now[at]?.rss ?? one.rss),
        files: Math.min(one.files, now[at]?.files ?? one.files),
      }));
    }
    return best;
  };
  const before = await settled();
  const urls = await meetHostile('again');
  const { batch } = await quietEnd(
    fleet,
    'again',
    urls,
    HOSTILE.map(({ name }) => name),
    120_000,
  );
  expect(batch.attempts).toBe(urls.length);
  expect(urls.length).toBeGreaterThanOrEqual(200);
  const after = await settled();
  console.log('workers before and after', urls.length, 'hostile answers:', before, after);
  expect(most(after, 'files')).toBeLessThanOrEqual(most(before, 'files') + 4);
  for (const [at, one] of after.entries()) expect(one.rss).toBeLessThan((before[at]?.rss ?? 0) + 64);
  const wheel = await fleet.gate.wake({ hostsMax: 100, jobsMax: 1 });
  expect(wheel.call).toEqual([]);
}, 240_000);
