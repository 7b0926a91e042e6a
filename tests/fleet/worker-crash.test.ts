import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ChildProcess } from 'node:child_process';
import type { BatchId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { notEndedOnce, overCap, overspent, pagesOf, sentTwice } from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

/**
 * Worker processes that die or freeze at each point of a delivery. Every host has one slot, so that the next
 * admission shows when a dead worker's slot came back.
 */
const ATTEMPT_MS = 1_000;
const LEASE_MS = ATTEMPT_MS + 5_000;
const POLICY = `
preset: balanced
concurrency: 1
attempt_budget: 1s
headroom: 0s
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 200ms }
batch_tokens: { share: 1 }
pace: { learn: off }
ramp: off
hosts:
  HOST:probed: { circuit: { events: 1, open: 5s, growth: 1 }, concurrency: 2 }
`;
/** The queue takes a dead worker's jobs back after this; shorter than a lease. */
const WORKER = {
  LOCK_MS: '4000',
  STALLED_CHECK_MS: '500',
  WORKER_CONCURRENCY: '1',
  SINKS: 'folder,stream',
};
const POINTS = ['after_admit', 'after_send', 'before_settle', 'after_settle'] as const;

let fleet: Fleet;
let alive: ChildProcess[] = [];
beforeAll(async () => {
  const named = (prefix: string) => POINTS.map((point) => ({ name: `${prefix}-${point.replace('_', '-')}` }));
  fleet = await startFleet({
    policy: POLICY,
    workers: 0,
    hosts: [
      ...named('killed'),
      ...named('frozen'),
      ...['after-host-effect', 'before-finish'].map((point) => ({
        name: `shut-${point}`,
        rules: [{ path: '/p/*', answer: { kind: 'status' as const, status: 429, retryAfterSeconds: 60 } }],
      })),
      {
        name: 'probed',
        rules: [
          {
            path: '/p/*',
            answer: { kind: 'status', status: 429, retryAfterSeconds: 1 },
          },
        ],
      },
    ],
  });
}, 60_000);
afterEach(async () => {
  await Promise.all(alive.map((child) => fleet.end(child)));
  alive = [];
});
afterAll(() => fleet?.stop());

async function worker(
  name: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  return fleet.workerNamed(name, { ...WORKER, ...environment }, alive);
}

const seenOf = (host: string) => pagesOf(fleet.origin.log()).filter((request) => request.host === host);

/** What each point leads to for the job that the dead worker had: attempts that reached the origin, and attempts charged. */
const AFTER_DEATH = {
  after_admit: { sent: [2], charged: 2, results: 1 },
  after_send: { sent: [1, 2], charged: 2, results: 1 },
  // The line is there already, and its key is the same.
  before_settle: { sent: [1, 2], charged: 2, results: 1 },
  after_settle: { sent: [1], charged: 1, results: 1 },
} as const;

test.each(POINTS)(
  'a worker killed %s loses no URL, sends nothing twice and gives its slot back',
  async (point) => {
    const host = `killed-${point.replace('_', '-')}`;
    const urls = [1, 2, 3].map((n) => fleet.url(host, `/p/${n}`));
    const victim = await worker(`victim-${host}`, { CRASH_AT: point });
    const died = once(victim, 'exit');
    await fleet.enqueue(host, urls);
    const [, signal] = (await died) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
    await worker(`rescuer-${host}`);

    const { ids, batch, jobs } = await quietEnd(fleet, host, urls, [host]);
    const seen = seenOf(host);
    const results = await fleet.results(host);
    const expected = AFTER_DEATH[point];
    const hit = jobs.toSorted((a, b) => a.facts.startedAtMs - b.facts.startedAtMs)[0]?.job ?? '';
    expect({
      sent: seen.filter(({ job }) => job === hit).map(({ attempt }) => attempt),
      results: results.filter(({ job }) => job === hit).length,
      attempts: batch.attempts,
      spent: batch.tokens?.spent,
      done: batch.jobs.done,
    }).toEqual({
      sent: expected.sent,
      results: expected.results,
      attempts: urls.length + expected.charged - 1,
      spent: expected.charged - 1,
      done: urls.length,
    });
    expect([
      ...notEndedOnce(
        ids,
        jobs,
        batch,
        results.map(({ job }) => job),
      ),
      ...sentTwice(seen),
      ...overCap(seen, 1),
      ...overspent(seen, jobs, batch),
    ]).toEqual([]);
    // What is handed over twice has one key, whatever attempt it came from: it is the same end of the same URL.
    expect(new Set(results.map(({ key }) => key)).size).toBe(urls.length);

    // The slot of the dead is taken for as long as its lease lives, and free again right after.
    const heldUntilMs = point === 'after_send' || point === 'before_settle' ? LEASE_MS : 0;
    const gapMs = (seen[1]?.admittedAtMs ?? 0) - (seen[0]?.admittedAtMs ?? 0);
    expect(gapMs).toBeGreaterThanOrEqual(heldUntilMs);
    expect(gapMs).toBeLessThan(heldUntilMs + 30_000);
  },
  240_000,
);

test.each(POINTS)(
  'a worker frozen %s past lease and lock sends and settles nothing when it wakes',
  async (point) => {
    const host = `frozen-${point.replace('_', '-')}`;
    const url = fleet.url(host, '/p/1');
    const zombie = await worker(`zombie-${host}`, { CRASH_AT: point, CRASH_SIGNAL: 'SIGSTOP' });
    await fleet.enqueue(host, [url]);
    await fleet.until('the worker is frozen', () => frozen(zombie));
    const rescuer = await worker(`rescuer-${host}`);
    const { batch: before } = await quietEnd(fleet, host, [url], [host]);
    const sentBefore = seenOf(host).map(({ attempt }) => attempt);
    const resultsBefore = await fleet.results(host);
    expect(sentBefore).toEqual(AFTER_DEATH[point].sent);

    await fleet.end(rescuer);
    zombie.kill('SIGCONT');
    // The woken worker is shown to be past its old delivery by a URL that only it can fetch.
    const later = `${host}-later`;
    const laterUrl = fleet.url(host, '/p/later');
    await fleet.enqueue(later, [laterUrl]);
    await quietEnd(fleet, later, [laterUrl], [host]);
    await fleet.end(zombie);

    const { batch, jobs, ids } = await quietEnd(fleet, host, [url], [host]);
    const seen = seenOf(host).filter(({ path }) => path === '/p/1');
    expect(seen.map(({ attempt }) => attempt)).toEqual(sentBefore);
    expect(batch).toEqual(before);
    const results = await fleet.results(host);
    expect(results).toEqual(resultsBefore);
    expect([
      ...notEndedOnce(
        ids,
        jobs,
        batch,
        results.map(({ job }) => job),
      ),
      ...sentTwice(seen),
      ...overCap(seen, 1, 1),
      ...overspent(seen, jobs, batch),
    ]).toEqual([]);
  },
  240_000,
);

/**
 * A throttled answer that ends its job: the batch has no retry token. The host's part is settled before the result is
 * handed over, so there are two more points at which a worker can die.
 */
test.each(['after_host_effect', 'before_finish'] as const)(
  'a worker killed %s of a throttled answer leaves the cooldown with the fleet and loses no result',
  async (point) => {
    const host = `shut-${point.replaceAll('_', '-')}`;
    const url = fleet.url(host, '/p/1');
    await fleet.gate.createBatch({
      batch: host as BatchId,
      defaults: {
        tokens: { kind: 'fixed', total: 0 },
        approved: true,
        owner: 'test',
        deadlineMs: 0,
        spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
      },
    });
    const victim = await worker(`victim-${host}`, { CRASH_AT: point });
    const died = once(victim, 'exit');
    await fleet.enqueue(host, [url]);
    await died;
    const cooled = (await fleet.gate.inspectHost(fleet.hostKey(host)))?.cooldownUntilMs ?? 0;
    expect(cooled).toBeGreaterThan(await fleet.gate.now());
    expect(await fleet.results(host)).toHaveLength(point === 'before_finish' ? 1 : 0);
    await worker(`rescuer-${host}`);

    const { batch } = await quietEnd(fleet, host, [url], [host]);
    expect(batch).toMatchObject({ attempts: 1, jobs: { done: 0, stopped: 1 } });
    expect(seenOf(host)).toHaveLength(1);
    const results = await fleet.results(host);
    expect(results.map(({ reason }) => reason)).toEqual(['retry_budget']);
    // Another place than the folder sees the repetition, under the same key.
    const streamed = await fleet.client.xrange('{holdoff}:results', '-', '+');
    const keys = streamed.map(([, fields]) => fields[1]).filter((key) => key === results[0]?.key);
    expect(keys).toHaveLength(point === 'before_finish' ? 2 : 1);
  },
  240_000,
);

test('a killed prober leaves exactly one new probe, after its lease', async () => {
  const urls = Array.from({ length: 6 }, (_, n) => fleet.url('probed', `/p/${n}`));
  const opener = await worker('opener');
  await fleet.enqueue('probed', urls);
  await fleet.until('the circuit is open', async () =>
    (await fleet.gate.inspectHost(fleet.hostKey('probed')))?.circuit.state === 'open' ? true : undefined,
  );
  const opened = once(opener, 'exit');
  opener.kill('SIGKILL');
  await opened;
  const refused = seenOf('probed').length;
  const answered = fleet.origin.log().length;
  fleet.origin.setRules('probed', [{ path: '/p/*', answer: { kind: 'page' } }]);

  const prober = await worker('prober', { CRASH_AT: 'after_send' });
  await fleet.until('the prober is dead', async () => (prober.signalCode === null ? undefined : true));
  expect(fleet.origin.log()).toHaveLength(answered + 1);
  await Promise.all(['after-1', 'after-2'].map((name) => worker(name)));

  const { batch } = await quietEnd(fleet, 'probed', urls, ['probed']);
  const [first, second, ...rest] = seenOf('probed').slice(refused);
  const gapMs = (second?.admittedAtMs ?? 0) - (first?.admittedAtMs ?? 0);
  expect(gapMs).toBeGreaterThanOrEqual(LEASE_MS);
  // The others come only after the second probe was answered.
  const openedAgainAtMs = Math.floor(second?.answeredAtMs ?? Number.POSITIVE_INFINITY);
  expect(rest.filter(({ admittedAtMs }) => (admittedAtMs ?? 0) < openedAgainAtMs)).toEqual([]);
  expect(rest.length).toBeGreaterThan(0);
  expect(sentTwice(seenOf('probed'))).toEqual([]);
  expect(batch.jobs.done).toBe(urls.length);
}, 240_000);

async function frozen(child: ChildProcess): Promise<true | undefined> {
  const state = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(') ')[1]?.[0];
  return state === 'T' ? true : undefined;
}
