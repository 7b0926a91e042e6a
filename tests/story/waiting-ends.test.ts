import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId, JobId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';

/** How waiting ends when it does not end well, and what a server can say to make it go wrong. */
const POLICY = `
preset: balanced
retry_after:
  in_place_max: 1s
  defer_over: 3s
  no_hint_pause: { base: 1s, cap: 1s }
  hold_after_events: never
  pad: { at_least: 0s, wake_jitter: 0s }
backoff: { base: 100ms, cap: 200ms }
attempts: { max_total: 3, max_429_per_run: 1 }
defer: { next_run_after: 1s, max_count: 2 }
attempt_budget: 2s
batch_tokens: { share: 3 }
circuit: off
host_tokens: off
pace: { learn: off }
ramp: off
hosts:
  HOST:deferring: { attempts: { max_total: 50 } }
`;
const PARKED = 300;

const says = (headers: Readonly<Record<string, string>>, times = 1_000) => [
  { path: '/p/*', times, answer: { kind: 'status' as const, status: 429, headers } },
];

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 2,
    hosts: [
      { name: 'failing', rules: [{ path: '/p/*', answer: { kind: 'status', status: 503 } }] },
      { name: 'deferring', rules: says({}) },
      { name: 'parked' },
      { name: 'kept' },
      { name: 'huge', rules: says({ 'Retry-After': '9'.repeat(40) }) },
      { name: 'past', rules: says({ 'Retry-After': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 1) },
      { name: 'negative', rules: says({ 'Retry-After': '-5' }, 1) },
    ],
  });
}, 120_000);
afterAll(() => fleet?.stop());

const seenOf = (host: string) =>
  fleet.origin.log().filter((request) => request.host === host && request.path.startsWith('/p/'));

test('a URL that fails ends with its attempts, counted over its whole life', async () => {
  const url = fleet.url('failing', '/p/1');
  await fleet.enqueue('failing', [url]);
  await fleet.ended('failing', 1);
  expect(await fleet.results('failing')).toMatchObject([{ reason: 'attempts', attempts: 3 }]);
  expect(seenOf('failing')).toHaveLength(3);
});

test('a URL that is put off again and again ends with its deferrals, under one id', async () => {
  const url = fleet.url('deferring', '/p/1');
  await fleet.enqueue('deferring', [url]);
  const batch = await fleet.ended('deferring', 1);
  expect(await fleet.results('deferring')).toMatchObject([{ reason: 'deferrals', attempts: 3 }]);
  expect(batch).toMatchObject({ deferrals: 2, throttled: 3 });
  expect(new Set(seenOf('deferring').map(({ job }) => job)).size).toBe(1);
});

test('cancelling a batch ends its waiting URLs once they are let go, with nothing sent', async () => {
  const key = fleet.hostKey('parked');
  await fleet.gate.hold(key, 'maintenance', 'owner');
  const urls = Array.from({ length: PARKED }, (_, n) => fleet.url('parked', `/p/${n}`));
  await fleet.enqueue('parked', urls);
  await fleet.until('all of them wait', async () =>
    (await fleet.gate.inspectHost(key))?.waiting === PARKED ? true : undefined,
  );
  await fleet.gate.cancelBatch('parked' as BatchId, 'owner');
  await fleet.gate.resume(key);
  const batch = await fleet.ended('parked', PARKED, 80_000);
  expect(batch.stoppedBy).toEqual({ cancelled: PARKED });
  expect(seenOf('parked')).toEqual([]);
}, 120_000);

test('cancelling a batch ends its waiting URLs also while their host is held', async () => {
  const key = fleet.hostKey('kept');
  await fleet.gate.hold(key, 'maintenance', 'owner');
  const urls = Array.from({ length: 20 }, (_, n) => fleet.url('kept', `/p/${n}`));
  await fleet.enqueue('kept', urls);
  await fleet.until('all of them wait', async () =>
    (await fleet.gate.inspectHost(key))?.waiting === 20 ? true : undefined,
  );
  await fleet.gate.cancelBatch('kept' as BatchId, 'owner');
  const batch = await fleet.ended('kept', 20, 40_000);
  expect(batch.stoppedBy).toEqual({ cancelled: 20 });
  expect((await fleet.gate.inspectHost(key))?.hold).toMatchObject({ reason: 'maintenance' });
  expect(seenOf('kept')).toEqual([]);
}, 60_000);

test('a wait of more seconds than a number can hold ends with the deadline, and nobody asks again', async () => {
  const url = fleet.url('huge', '/p/1');
  await fleet.enqueue('huge', [url, fleet.url('huge', '/p/2')], { deadline: '+8s' });
  const batch = await fleet.ended('huge', 2, 40_000);
  expect(batch.stoppedBy).toEqual({ deadline: 2 });
  const host = await fleet.gate.inspectHost(fleet.hostKey('huge'));
  expect(host?.hold).not.toBeNull();
  // Saturated: far away, and a number that dates can be made of.
  expect((host?.cooldownUntilMs ?? 0) - (host?.nowMs ?? 0)).toBeGreaterThanOrEqual(2 ** 31 * 1_000 - 60_000);
  expect(Number.isSafeInteger(host?.cooldownUntilMs)).toBe(true);
  expect(seenOf('huge').length).toBeLessThanOrEqual(2);
}, 60_000);

test.each(['past', 'negative'])(
  'a wait that is %s does not bring the URL back at once for ever',
  async (name) => {
    const url = fleet.url(name, '/p/1');
    await fleet.enqueue(name, [url]);
    const batch = await fleet.ended(name, 1);
    expect(batch.jobs).toMatchObject({ done: 1 });
    expect(seenOf(name).map(({ status }) => status)).toEqual([429, 200]);
    const job = await fleet.gate.inspectJob(fleet.jobId(name, url) as JobId);
    expect(job?.facts).toMatchObject({ attempts: 2 });
  },
);
