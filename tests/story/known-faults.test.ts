import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SeenRequest } from '@holdoff/sample-origin';
import type { JobId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';

/**
 * Faults that people met in other crawlers, queues and limiters, each provoked in a real fleet and judged from the
 * log of the server. A test is named for the fault that must not be.
 */
const POLICY = `
preset: balanced
retry_after:
  in_place_max: 2s
  defer_over: 30s
  no_hint_pause: { base: 1s, cap: 4s }
  hold_after_events: never
  pad: { wake_jitter: 200ms }
backoff: { base: 100ms, cap: 500ms }
attempts: { max_429_per_run: 100, max_total: 50 }
defer: { next_run_after: 2s }
attempt_budget: 5s
batch_tokens: { share: 1, least: 100 }
host_tokens: { cap: 1000, start: 1000 }
circuit: { events: none }
pace: { learn: { start: 20/s } }
groups:
  shop: { hosts: [HOST:shop-1, HOST:shop-2], concurrency: 1, pace: { learn: off } }
hosts:
  HOST:spaced: { pace: { learn: off, interval: 1s } }
  HOST:slow: { concurrency: 5, pace: { learn: off } }
  HOST:parked: { pace: { learn: { start: 5/s, ceiling: 5/s } } }
`;

const refusal = (times: number, headers: Readonly<Record<string, string>> = {}, path = '/p/*') => ({
  path,
  times,
  answer: { kind: 'status' as const, status: 429, headers },
});

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 2,
    hosts: [
      { name: 'zero', rules: [refusal(3, { 'Retry-After': '0' })] },
      { name: 'hourly', rules: [refusal(1000, { 'Retry-After': '3120' })] },
      { name: 'bare', rules: [refusal(4)] },
      { name: 'parked', rules: [refusal(1, { 'Retry-After': '3' }, '/p/0')] },
      {
        name: 'short-advice',
        limiter: { kind: 'fixed_window', limit: 1, windowMs: 1_400 },
        refusal: { retryAfter: { form: 'fixed', seconds: 1 } },
      },
      { name: 'gone', rules: [{ path: '/p/*', answer: { kind: 'status', status: 404 } }] },
      { name: 'shop-1', latency: { kind: 'fixed', ms: 80 } },
      { name: 'shop-2', latency: { kind: 'fixed', ms: 80 } },
      { name: 'spaced' },
      { name: 'slow', latency: { kind: 'fixed', ms: 1_000 } },
      { name: 'later' },
      { name: 'after-outage' },
    ],
  });
}, 60_000);
afterAll(() => fleet?.stop());

const seenOf = (host: string): readonly SeenRequest[] =>
  fleet.origin.log().filter((request) => request.host === host && request.path.startsWith('/p/'));
const pages = (host: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => fleet.url(host, `/p/${n}`));
/** ms from the end of each answer to the next request. */
const gaps = (seen: readonly SeenRequest[]): number[] =>
  seen.slice(1).map((request, at) => request.receivedAtMs - (seen[at]?.endedAtMs ?? 0));
const mostInASecond = (seen: readonly SeenRequest[]): number =>
  Math.max(
    ...seen.map(
      ({ receivedAtMs }) =>
        seen.filter(
          (other) => other.receivedAtMs >= receivedAtMs && other.receivedAtMs < receivedAtMs + 1_000,
        ).length,
    ),
  );

test.concurrent('a server that keeps saying 0 is not hit in a loop', async () => {
  await fleet.enqueue('zero', pages('zero', 1));
  await fleet.ended('zero', 1);
  const seen = seenOf('zero');
  expect(seen.map(({ status }) => status)).toEqual([429, 429, 429, 200]);
  const waits = gaps(seen);
  // At least our own spacing of a second, and longer after each.
  expect(waits[0]).toBeGreaterThanOrEqual(900);
  expect(waits[1]).toBeGreaterThan(waits[0] ?? 0);
  expect(waits[2]).toBeGreaterThan(waits[1] ?? 0);
});

test.concurrent('a wait of 52 minutes is not cut, and no job is dropped for it', async () => {
  await fleet.enqueue('hourly', pages('hourly', 5));
  await fleet.until(
    'the refused URL is put off to the server’s instant, the others wait for their host',
    async () => {
      const host = await fleet.gate.inspectHost(fleet.hostKey('hourly'));
      return host !== undefined && host.cooldownUntilMs > host.nowMs + 3_000_000 && host.waiting === 4
        ? true
        : undefined;
    },
  );
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(seenOf('hourly')).toHaveLength(1);
  expect(await fleet.gate.inspectBatch('hourly' as never)).toMatchObject({
    jobs: { total: 5, done: 0, stopped: 0 },
  });
});

test.concurrent('429s without a wait are waited out longer each time', async () => {
  await fleet.enqueue('bare', pages('bare', 1));
  await fleet.ended('bare', 1);
  const waits = gaps(seenOf('bare'));
  expect(waits).toHaveLength(4);
  for (const [at, least] of [1_000, 2_000, 4_000, 4_000].entries()) {
    expect(waits[at]).toBeGreaterThanOrEqual(least * 0.9);
    expect(waits[at]).toBeLessThan(least * 1.1 + 1_500);
  }
});

test.concurrent('jobs that wait for one instant do not wake together', async () => {
  await fleet.enqueue('parked', pages('parked', 40));
  await fleet.ended('parked', 40);
  const seen = seenOf('parked');
  const refused = seen.find(({ status }) => status === 429);
  const reopenedAtMs = (refused?.answeredAtMs ?? 0) + 3_000;
  const inFlight = seen.filter(({ receivedAtMs }) => receivedAtMs <= (refused?.answeredAtMs ?? 0) + 100);
  const later = seen.slice(inFlight.length);
  expect(later.length).toBeGreaterThan(30);
  expect(later[0]?.receivedAtMs).toBeGreaterThanOrEqual(reopenedAtMs);
  expect(mostInASecond(later)).toBeLessThanOrEqual(6);
});

test.concurrent('advice that is slightly too short is corrected, not followed for ever', async () => {
  await fleet.enqueue('short-advice', pages('short-advice', 5));
  await fleet.ended('short-advice', 5);
  const seen = seenOf('short-advice');
  expect(seen.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(6);
  expect(seen.every(({ admittedInCooldownMs }) => admittedInCooldownMs === null)).toBe(true);
});

test.concurrent('pages that do not exist close no circuit and take no pace', async () => {
  await fleet.enqueue('gone', pages('gone', 40));
  await fleet.ended('gone', 40);
  const host = await fleet.gate.inspectHost(fleet.hostKey('gone'));
  expect(host).toMatchObject({ circuit: { state: 'closed' }, cooldownUntilMs: 0 });
  expect(seenOf('gone')).toHaveLength(40);
});

test.concurrent('hosts of a group are never in flight together beyond its slots', async () => {
  await fleet.enqueue('shop', [...pages('shop-1', 10), ...pages('shop-2', 10)]);
  await fleet.ended('shop', 20);
  const seen = [...seenOf('shop-1'), ...seenOf('shop-2')].toSorted((a, b) => a.receivedAtMs - b.receivedAtMs);
  expect(seen).toHaveLength(20);
  expect(Math.min(...gaps(seen))).toBeGreaterThanOrEqual(0);
});

test.concurrent('the spacing of a host outlives an empty queue and a worker', async () => {
  for (let n = 0; n < 3; n += 1) {
    const worker = fleet.startWorker();
    await fleet.enqueue('spaced', [fleet.url('spaced', `/p/${n}`)]);
    await fleet.ended('spaced', n + 1);
    await fleet.end(worker);
  }
  const received = seenOf('spaced').map(({ receivedAtMs }) => receivedAtMs);
  expect(received).toHaveLength(3);
  for (const [at, time] of received.slice(1).entries())
    expect(time - (received[at] ?? 0)).toBeGreaterThanOrEqual(990);
});

test.concurrent('a job due in hours does not hide one that is due in a second', async () => {
  const dueIn = { far: 21_600, minute: 60, second: 1 };
  const [far, minute, second] = pages('later', 3);
  const startedAtMs = Date.now();
  const at = (seconds: number) => new Date(startedAtMs + seconds * 1_000).toISOString();
  for (const [url, seconds] of [
    [far, dueIn.far],
    [minute, dueIn.minute],
    [second, dueIn.second],
  ] as const)
    await fleet.enqueue('later', [url ?? ''], { not_before: at(seconds) });
  await fleet.ended('later', 1, 10_000);
  const [seen] = seenOf('later');
  expect(seen?.path).toBe('/p/2');
  expect((seen?.receivedAtMs ?? 0) - startedAtMs).toBeGreaterThanOrEqual(1_000);
  expect((seen?.receivedAtMs ?? 0) - startedAtMs).toBeLessThan(4_000);
});

test('every connection cut while requests run costs no slot, no URL and no second request', async () => {
  await fleet.enqueue('slow', pages('slow', 10));
  await fleet.until('five requests run', async () => (seenOf('slow').length >= 5 ? true : undefined));
  await fleet.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await fleet.ended('slow', 10, 30_000);
  const seen = seenOf('slow');
  expect(new Set(seen.map(({ path }) => path)).size).toBe(10);
  expect(seen).toHaveLength(10);
  expect(Math.max(...seen.map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(5);
  expect(await fleet.gate.inspectHost(fleet.hostKey('slow'))).toMatchObject({ leases: [], waiting: 0 });
  for (const worker of fleet.workers) expect(worker.exitCode).toBeNull();
});

test('a job that comes due after Redis was away does not sleep on', async () => {
  const dueAtMs = Date.now() + 5_000;
  await fleet.enqueue('after-outage', pages('after-outage', 1), {
    not_before: new Date(dueAtMs).toISOString(),
  });
  await fleet.until('the job is entered', async () => {
    const job = await fleet.gate.inspectJob(
      fleet.jobId('after-outage', fleet.url('after-outage', '/p/0')) as JobId,
    );
    return job === null ? undefined : true;
  });
  await fleet.redis.kill();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await fleet.redis.restart();
  await fleet.ended('after-outage', 1, 30_000);
  const [seen] = seenOf('after-outage');
  expect((seen?.receivedAtMs ?? 0) - dueAtMs).toBeGreaterThanOrEqual(0);
  expect((seen?.receivedAtMs ?? 0) - dueAtMs).toBeLessThan(12_000);
});
