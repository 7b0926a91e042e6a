import type { BatchId } from '@holdoff/throttle-core';
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
  sentTwice,
} from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

/** Worker processes that share hosts. Two cores start eight in reasonable time; more share no more state. */
const WORKERS = Number(process.env['FLEET_WORKERS'] ?? 8);
const POLICY = `
preset: balanced
attempt_budget: 5s
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 300ms }
batch_tokens: explicit
hosts:
  HOST:strict: { concurrency: 2, pace: { rate: 2/s, learn: off }, circuit: off, ramp: off }
  HOST:broken: { concurrency: 8, pace: { learn: off }, host_tokens: off, circuit: off }
  HOST:torn: { concurrency: 2, pace: { learn: off }, circuit: off, ramp: off }
`;
const COOLDOWN_S = 3;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: WORKERS,
    environment: { NODE_OPTIONS: '--max-old-space-size=64', WORKER_CONCURRENCY: '2' },
    hosts: [
      {
        name: 'strict',
        limiter: { kind: 'penalty', perSecond: 2, burst: 2, penaltyMs: 2_000, extendMs: 1_000 },
        latency: { kind: 'uniform', minMs: 20, maxMs: 120 },
        rules: [
          {
            path: '/stop/*',
            times: 1,
            answer: { kind: 'status', status: 429, retryAfterSeconds: COOLDOWN_S },
          },
        ],
      },
      { name: 'broken', rules: [{ path: '/p/*', answer: { kind: 'status', status: 503 } }] },
      {
        name: 'torn',
        latency: { kind: 'uniform', minMs: 200, maxMs: 600 },
        rules: [
          { path: '/long', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 6 } },
          { path: '/short', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 1 } },
        ],
      },
    ],
  });
}, 200_000);
afterAll(() => fleet?.stop());

const tokens = (batch: string, total: number) =>
  fleet.gate.createBatch({
    batch: batch as BatchId,
    defaults: {
      tokens: { kind: 'fixed', total },
      approved: true,
      owner: 'tests',
      deadlineMs: 0,
      spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
    },
  });

test('many workers keep to two requests a second and send nothing inside a cooldown', async () => {
  const urls = Array.from({ length: 80 }, (_, n) =>
    fleet.url('strict', n % 27 === 9 ? `/stop/${n}` : `/p/${n}`),
  );
  const watch = new HostWatch(fleet, ['strict']);
  await tokens('strict', 10);
  await fleet.enqueue('strict', urls);
  const { ids, batch, jobs } = await quietEnd(fleet, 'strict', urls, ['strict'], 180_000);
  const samples = await watch.stop();

  const seen = pagesOf(fleet.origin.log()).filter(({ host }) => host === 'strict');
  const stops = seen.filter(({ status, answer }) => status === 429 && answer !== 'refused').length;
  const refused = seen.filter(({ answer }) => answer === 'refused').length;
  const results = (await fleet.results('strict')).map(({ job }) => job);
  // The run must have come to what it is about: cooldowns, seen in Redis while others wanted to go on.
  expect(stops).toBe(3);
  expect(new Set(samples.map(({ cooldownUntilMs }) => cooldownUntilMs)).size).toBeGreaterThan(3);
  expect([
    ...admittedInCooldown(seen, samples),
    ...cooldownMovedBack(samples),
    ...overCap(seen, 2),
    ...sentTwice(seen),
    ...overspent(seen, jobs, batch),
    ...notEndedOnce(ids, jobs, batch, results),
  ]).toEqual([]);
  expect(refused / seen.length).toBeLessThan(0.01);
  expect(batch.jobs.done).toBe(urls.length);
}, 240_000);

test('a cooldown of six seconds is not shortened by a later answer that names one', async () => {
  const urls = ['/long', '/short', ...Array.from({ length: 10 }, (_, n) => `/p/${n}`)].map((path) =>
    fleet.url('torn', path),
  );
  const watch = new HostWatch(fleet, ['torn']);
  await tokens('torn', 5);
  await fleet.enqueue('torn', urls);
  const { batch } = await quietEnd(fleet, 'torn', urls, ['torn']);
  const samples = await watch.stop();
  const seen = pagesOf(fleet.origin.log()).filter(({ host }) => host === 'torn');
  const long = seen.find(({ path, status }) => path === '/long' && status === 429);
  const publishedAtMs = long?.answeredAtMs ?? 0;
  expect(publishedAtMs).toBeGreaterThan(0);
  expect([...admittedInCooldown(seen, samples), ...cooldownMovedBack(samples)]).toEqual([]);
  // Only what was admitted before the answer was written down may still have been on its way.
  const inside = seen.filter(
    ({ admittedAtMs }) =>
      admittedAtMs !== null && admittedAtMs > publishedAtMs && admittedAtMs < publishedAtMs + 6_000,
  );
  expect(inside.length).toBeLessThanOrEqual(1);
  expect(batch.jobs.done).toBe(urls.length);
}, 120_000);

test('a hundred jobs with twenty tokens send at most 120 requests to a host that always fails', async () => {
  const urls = Array.from({ length: 100 }, (_, n) => fleet.url('broken', `/p/${n}`));
  await tokens('broken', 20);
  await fleet.enqueue('broken', urls);
  const { ids, batch, jobs } = await quietEnd(fleet, 'broken', urls, ['broken'], 120_000);
  const seen = pagesOf(fleet.origin.log()).filter(({ host }) => host === 'broken');
  const results = (await fleet.results('broken')).map(({ job }) => job);
  expect(seen.length).toBeLessThanOrEqual(120);
  expect({ sent: seen.length, spent: batch.tokens?.spent, stopped: batch.jobs.stopped }).toEqual({
    sent: 120,
    spent: 20,
    stopped: 100,
  });
  expect([
    ...sentTwice(seen),
    ...overCap(seen, 8),
    ...overspent(seen, jobs, batch),
    ...notEndedOnce(ids, jobs, batch, results),
  ]).toEqual([]);
}, 180_000);
