import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import type { SeenRequest } from '@holdoff/sample-origin';
import type { BatchId } from '@holdoff/throttle-core';
import { type UrlQueue, openUrlQueue, promoteCalled, queueNames } from '@holdoff/url-job';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { HostWatch } from './host-watch.ts';
import {
  admittedInCooldown,
  cooldownMovedBack,
  overCap,
  overspent,
  pagesOf,
  secretsIn,
  sentTwice,
  tooManyAttempts,
} from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

const REMOVE_GUARD = pathToFileURL(fileURLToPath(new URL('fixtures/remove-guard.ts', import.meta.url))).href;

const WAKE_EVERY_MS = 200;

const request = (change: Partial<SeenRequest>): SeenRequest => ({
  seq: 0,
  receivedAtMs: 1_010,
  host: 'h',
  method: 'GET',
  path: '/p',
  status: 200,
  answer: 'page',
  job: 'j',
  attempt: 1,
  admittedAtMs: 1_000,
  inFlight: 1,
  receivedInCooldownMs: null,
  admittedInCooldownMs: null,
  answeredAtMs: 1_020,
  publishedWaitMs: null,
  end: 'complete',
  endedAtMs: 1_020,
  ...change,
});
const sample = { host: 'h', atMs: 900, cooldownUntilMs: 1_500, leases: 0 };

describe('the checks find in a doctored log', () => {
  test('an admission inside a cooldown that was there before it, and no other', () => {
    expect(admittedInCooldown([request({})], [sample])).toHaveLength(1);
    expect(admittedInCooldown([request({ admittedAtMs: 900 })], [sample])).toEqual([]);
    expect(admittedInCooldown([request({ admittedAtMs: 1_500 })], [sample])).toEqual([]);
    expect(admittedInCooldown([request({ host: 'other' })], [sample])).toEqual([]);
  });
  test('a cooldown that moved back', () => {
    expect(cooldownMovedBack([sample, { ...sample, cooldownUntilMs: 1_499 }])).toHaveLength(1);
    expect(cooldownMovedBack([sample, sample])).toEqual([]);
  });
  test('an attempt that was sent twice', () => {
    expect(sentTwice([request({}), request({})])).toHaveLength(1);
    expect(sentTwice([request({}), request({ attempt: 2 }), request({ job: null })])).toEqual([]);
  });
  test('a slot too many, an attempt too many, a secret', () => {
    expect(overCap([request({ inFlight: 3 })], 2)).toHaveLength(1);
    expect(overCap([request({ inFlight: 3 })], 2, 1)).toEqual([]);
    expect(tooManyAttempts([request({ attempt: 11 })], 10)).toHaveLength(1);
    expect(secretsIn({ log: 'a s3cret b' }, ['s3cret'])).toEqual(['s3cret is in log']);
  });
});

describe('a fleet without the guard is found out by the check', () => {
  let fleet: Fleet;
  let alive: ChildProcess[] = [];
  let queue: UrlQueue;
  beforeAll(async () => {
    fleet = await startFleet({
      workers: 0,
      policy: `
preset: balanced
concurrency: 2
attempt_budget: 5s
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 200ms }
batch_tokens: explicit
host_tokens: off
circuit: off
ramp: off
pace: { learn: off }
`,
      hosts: [
        {
          name: 'cooldown',
          latency: { kind: 'fixed', ms: 100 },
          rules: [{ path: '/stop', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 4 } }],
        },
        { name: 'slots', latency: { kind: 'fixed', ms: 400 } },
        { name: 'tokens', rules: [{ path: '/p/*', answer: { kind: 'status', status: 503 } }] },
      ],
    });
    queue = openUrlQueue(fleet.client, queueNames());
  }, 200_000);
  afterEach(async () => {
    await Promise.all(alive.map((child) => fleet.end(child)));
    alive = [];
  });
  afterAll(async () => {
    await queue?.close();
    await fleet?.stop();
  });

  /** The same work with a guard and without it; what the origin and Redis show of each. */
  async function run(guard: 'cooldown' | 'slots' | 'tokens', removed: boolean) {
    const name = `${guard}-${removed ? 'removed' : 'kept'}`;
    fleet.origin.reset();
    await fleet.gate.createBatch({
      batch: name as BatchId,
      defaults: {
        tokens: { kind: 'fixed', total: 4 },
        approved: true,
        owner: 'tests',
        deadlineMs: 0,
        spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
      },
    });
    await fleet.workerNamed(
      name,
      removed ? { NODE_OPTIONS: `--import=${REMOVE_GUARD}`, REMOVE_GUARD: guard } : {},
      alive,
    );
    const watch = new HostWatch(fleet, [guard]);
    const first = guard === 'cooldown' ? ['/stop'] : [];
    const urls = [...first, ...Array.from({ length: 12 }, (_, n) => `/p/${name}-${n}`)].map((path) =>
      fleet.url(guard, path),
    );
    await fleet.enqueue(name, urls);
    // Whoever wakes jobs before they were called finds the gate shut.
    const ids = urls.map((url) => fleet.jobId(name, url));
    const waker = setInterval(
      () => void promoteCalled(queue, ids, { triesMax: 1 }).catch(() => undefined),
      WAKE_EVERY_MS,
    );
    const { batch, jobs } = await quietEnd(fleet, name, urls, [guard]).finally(() => clearInterval(waker));
    const samples = await watch.stop();
    // A worker with its guards would take the jobs of the next run, too.
    await Promise.all(alive.splice(0).map((child) => fleet.end(child)));
    const log = pagesOf(fleet.origin.log());
    return {
      cooldown: admittedInCooldown(log, samples),
      slots: overCap(log, 2),
      tokens: overspent(log, jobs, batch),
    }[guard];
  }

  test.each(['cooldown', 'slots', 'tokens'] as const)(
    '%s',
    async (guard) => {
      expect(await run(guard, false)).toEqual([]);
      expect(await run(guard, true)).not.toEqual([]);
    },
    240_000,
  );
});
