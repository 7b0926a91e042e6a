import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import type { HostSnapshot, JobId, JobSnapshot } from '@holdoff/throttle-core';
import { openUrlQueue, queueNames } from '@holdoff/url-job';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { notEndedOnce, overspent, pagesOf, sentTwice } from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

/** Waits that outlive what happens meanwhile: the store killed, workers restarted, processes that end before they could tell. */
const DAY_MS = 86_400_000;
/** Starts and ends of a worker. */
const ROUNDS = 8;
const POLICY = `
preset: balanced
concurrency: 2
attempt_budget: 5s
headroom: 0s
retry_after: { in_place_max: 2s, defer_over: 20s, pad: { at_least: 0s, wake_jitter: 0s }, host_pause_max: none }
deadline: none
batch_tokens: { share: 1 }
host_tokens: off
pace: { learn: off }
circuit: off
ramp: off
`;
const WORKER = { LOCK_MS: '2000', STALLED_CHECK_MS: '500' };

let fleet: Fleet;
let alive: ChildProcess[] = [];
const asksFor = (seconds: number) => [
  {
    path: '/p/*',
    times: 1,
    answer: { kind: 'status' as const, status: 429, retryAfterSeconds: seconds },
  },
];
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 0,
    keepLogs: true,
    hosts: [
      { name: 'minutes', rules: asksFor(300) },
      { name: 'days', rules: asksFor((3 * DAY_MS) / 1_000) },
      { name: 'told-late', latency: { kind: 'fixed', ms: 1_500 }, rules: asksFor(60) },
      { name: 'never-told', latency: { kind: 'fixed', ms: 3_000 }, rules: asksFor(4) },
      { name: 'restless', rules: asksFor(4), latency: { kind: 'fixed', ms: 100 } },
    ],
  });
}, 60_000);
afterEach(async () => {
  await Promise.all(alive.map((child) => fleet.end(child)));
  alive = [];
});
afterAll(() => fleet?.stop());

const worker = (name: string, environment: Readonly<Record<string, string>> = {}): Promise<ChildProcess> =>
  fleet.workerNamed(name, { ...WORKER, ...environment }, alive);
const seenOf = (host: string) => pagesOf(fleet.origin.log()).filter((request) => request.host === host);
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Waiting {
  readonly job: JobSnapshot;
  readonly host: HostSnapshot;
  /** When the queue brings the job back, ms since the epoch. */
  readonly dueMs: number;
}

/** What Redis holds of a job that waits; undefined: it does not. */
async function waitingOf(name: string, url: string): Promise<Waiting | undefined> {
  const names = queueNames();
  const id = fleet.jobId(name, url);
  const [job, host, score] = await Promise.all([
    fleet.gate.inspectJob(id as JobId),
    fleet.gate.inspectHost(fleet.hostKey(name)),
    fleet.client.zscore(`${names.prefix}:${names.queue}:delayed`, id),
  ]);
  if (job === undefined || host === undefined || score === null) return undefined;
  if (job.facts.attempts === 0 || job.waiting?.cause !== 'not_before') return undefined;
  // The queue keeps the instant in the upper part of the score, and an order in the lower twelve bits.
  return { job, host, dueMs: Math.floor(Number(score) / 4_096) };
}

const lasting = ({ job, host, dueMs }: Waiting) => ({
  untilMs: job.waiting?.untilMs,
  facts: job.facts,
  trail: job.trail,
  cooldownUntilMs: host.cooldownUntilMs,
  dueMs,
});

test('a worker that is told to end while Redis is away keeps what a server asked for until Redis is back', async () => {
  const child = await worker('told-late', { SHUTDOWN_GRACE_MS: '8000', LOCK_MS: '30000' });
  const url = fleet.url('told-late', '/p/1');
  await fleet.enqueue('told-late', [url]);
  await fleet.until('it is asked', async () => (seenOf('told-late').length > 0 ? true : undefined));
  const exit = once(child, 'exit');
  await fleet.redis.kill();
  child.kill('SIGTERM');
  await fleet.until('the server has answered', async () =>
    seenOf('told-late')[0]?.answeredAtMs == null ? undefined : true,
  );
  await wait(1_500);
  expect(child.exitCode).toBeNull();
  await fleet.redis.restart();
  // 0 or 1: the queue library may not close its connections in time after an outage, with nothing left to do.
  await exit;
  const kept = await fleet.until('Redis is back', () => waitingOf('told-late', url).catch(() => undefined));
  expect(kept.host.cooldownUntilMs - (seenOf('told-late')[0]?.answeredAtMs ?? 0)).toBeGreaterThanOrEqual(
    60_000,
  );
  expect(kept.job.facts).toMatchObject({ attempts: 1, deferrals: 1 });
  expect(fleet.logged()).not.toContain('answers are lost');
  // Out of the way of those that look at the whole queue.
  await openUrlQueue(fleet.client, queueNames()).remove(fleet.jobId('told-late', url));
}, 90_000);

test('what it could not tell before it had to end is named in its log, and the job goes on', async () => {
  const child = await worker('never-told', { SHUTDOWN_GRACE_MS: '2000' });
  const url = fleet.url('never-told', '/p/1');
  await fleet.enqueue('never-told', [url]);
  await fleet.until('it is asked', async () => (seenOf('never-told').length > 0 ? true : undefined));
  // The append-only file is synced every second: entry and admission are in it.
  await wait(1_200);
  const exit = once(child, 'exit');
  await fleet.redis.kill();
  child.kill('SIGTERM');
  expect(await exit).toEqual([1, null]);
  const told = fleet.logged();
  expect(told).toContain('answers are lost');
  const lost = told.split('\n').find((line) => line.includes('"lost answer"')) ?? '{}';
  expect(JSON.parse(lost)).toMatchObject({
    job: fleet.jobId('never-told', url),
    status: 429,
    cooldownUntil: expect.stringMatching(/Z$/) as string,
  });
  await fleet.redis.restart();
  await worker('never-told-2');
  const { ids, batch, jobs } = await quietEnd(fleet, 'never-told', [url], ['never-told']);
  const seen = seenOf('never-told');
  const results = (await fleet.results('never-told')).map(({ job }) => job);
  expect([
    ...notEndedOnce(ids, jobs, batch, results),
    ...sentTwice(seen),
    ...overspent(seen, jobs, batch),
  ]).toEqual([]);
}, 120_000);

test('workers that restart in a loop change nothing about a wait', async () => {
  const urls = Array.from({ length: 30 }, (_, n) => fleet.url('restless', n === 0 ? '/p/0' : `/q/${n}`));
  await fleet.enqueue('restless', urls);
  const end = quietEnd(fleet, 'restless', urls, ['restless']);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const child = await worker(`restless-${round}`);
    await wait(400);
    const exit = once(child, 'exit');
    child.kill(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    await exit;
  }
  await worker('restless-last');
  const { ids, batch, jobs } = await end;
  const seen = seenOf('restless');
  const results = (await fleet.results('restless')).map(({ job }) => job);
  expect([
    ...notEndedOnce(ids, jobs, batch, results),
    ...sentTwice(seen),
    ...overspent(seen, jobs, batch),
  ]).toEqual([]);
  const refused = seen.find(({ status }) => status === 429);
  const publishedAtMs = refused?.answeredAtMs ?? Number.NaN;
  const inside = seen.filter(
    ({ admittedAtMs }) =>
      admittedAtMs !== null && admittedAtMs > publishedAtMs + 100 && admittedAtMs < publishedAtMs + 4_000,
  );
  expect(inside).toEqual([]);
}, 180_000);

// Last, since its jobs stay.
test.each([
  ['minutes', 300_000],
  ['days', 3 * DAY_MS],
])(
  'a wait of %s is stored once, and outlives kill -9 of Redis and of every worker',
  async (name, waitMs) => {
    await worker(`${name}-1`);
    const url = fleet.url(name, '/p/1');
    await fleet.enqueue(name, [url]);
    const before = await fleet.until(`${name} waits`, () => waitingOf(name, url));
    const answeredAtMs = seenOf(name)[0]?.answeredAtMs ?? Number.NaN;
    const untilMs = before.job.waiting?.untilMs ?? 0;
    expect(before.job.facts).toMatchObject({ attempts: 1, deferrals: 1, run: 2 });
    expect(before.dueMs).toBe(untilMs);
    expect(before.host.cooldownUntilMs).toBe(untilMs);
    expect(untilMs - answeredAtMs).toBeGreaterThanOrEqual(waitMs);
    expect(untilMs - answeredAtMs).toBeLessThanOrEqual(waitMs * 1.25 + 2_000);

    // The append-only file is synced every second.
    await wait(1_500);
    await fleet.redis.kill();
    await Promise.all(alive.map((child) => (child.kill('SIGKILL'), once(child, 'exit'))));
    alive = [];
    await fleet.redis.restart();
    await worker(`${name}-2`);
    const after = await fleet.until('Redis is back', () => waitingOf(name, url).catch(() => undefined));
    expect(lasting(after)).toEqual(lasting(before));

    // Brought back too early, by hand or by a clock: it asks, and goes back to the same instant.
    await fleet.client.del('{holdoff}:wheel', '{holdoff}:hosts');
    const names = queueNames();
    await fleet.client.zadd(`${names.prefix}:${names.queue}:delayed`, 1, fleet.jobId(name, url));
    await fleet.until('it was brought back and put back', async () => {
      const now = await waitingOf(name, url).catch(() => undefined);
      return now !== undefined && now.job.trail.length > before.job.trail.length && now.dueMs === untilMs
        ? true
        : undefined;
    });
    const { trail: _, ...kept } = lasting((await waitingOf(name, url)) ?? after);
    expect(kept).toEqual({ ...lasting(before), trail: undefined });
    expect(seenOf(name)).toHaveLength(1);
    // Nothing of it may be forgotten by Redis before its time.
    const ttl = await fleet.client.pttl(`{holdoff}:host:${fleet.hostKey(name)}`);
    expect(ttl).toBeGreaterThan(waitMs);
    expect(await fleet.client.pttl(`{holdoff}:job:${fleet.jobId(name, url)}`)).toBe(-1);
  },
  120_000,
);
