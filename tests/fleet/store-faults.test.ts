import { randomInt } from 'node:crypto';
import { pathToFileURL, fileURLToPath } from 'node:url';
import type { ChildProcess } from 'node:child_process';
import { type CuttingProxy, startCuttingProxy } from '@holdoff/throttle-core/testing';
import { queueNames } from '@holdoff/url-job';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
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

/** What happens to the store, to the way to it and to the clocks beside it, while the fleet works. */
const CAP = 4;
const POLICY = `
preset: balanced
concurrency: ${CAP}
attempt_budget: 2s
headroom: 0s
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 200ms }
batch_tokens: { share: 1 }
pace: { rate: 10/s, learn: off }
circuit: off
ramp: off
`;
const HOSTS = ['killed', 'flushed', 'cut', 'shifted'];
const WORKER = { LOCK_MS: '2000', STALLED_CHECK_MS: '500' };
const SHIFT_CLOCK = pathToFileURL(fileURLToPath(new URL('fixtures/shift-clock.ts', import.meta.url))).href;

let fleet: Fleet;
let alive: ChildProcess[] = [];
let proxy: CuttingProxy;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 0,
    schedulers: 2,
    hosts: HOSTS.map((name) => ({
      name,
      latency: { kind: 'uniform' as const, minMs: 50, maxMs: 300 },
      rules: [
        { path: '/stop/*', times: 1, answer: { kind: 'status' as const, status: 429, retryAfterSeconds: 1 } },
        { path: '/fail/*', times: 1, answer: { kind: 'status' as const, status: 503 } },
      ],
    })),
  });
  proxy = await startCuttingProxy(fleet.redis.port);
}, 60_000);
afterEach(async () => {
  await Promise.all(alive.map((child) => fleet.end(child)));
  alive = [];
});
afterAll(async () => {
  await fleet?.stop();
  await proxy?.stop();
});

async function worker(
  name: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  return fleet.workerNamed(name, { ...WORKER, ...environment }, alive);
}

/** Pages, of which some throttle or fail once. */
const urlsOf = (host: string, count: number) =>
  Array.from({ length: count }, (_, n) =>
    fleet.url(host, n % 20 === 7 ? `/stop/${n}` : n % 20 === 13 ? `/fail/${n}` : `/p/${n}`),
  );
const seenOf = (host: string) => pagesOf(fleet.origin.log()).filter((request) => request.host === host);

/** Enqueues pages, does harm while they are fetched, and judges. */
async function under(host: string, count: number, harm: (isOver: () => boolean) => Promise<void>) {
  const urls = urlsOf(host, count);
  const watch = new HostWatch(fleet, [host]);
  await fleet.enqueue(host, urls);
  const work = quietEnd(fleet, host, urls, [host]);
  let over = false;
  const settled = work.then(
    () => (over = true),
    () => (over = true),
  );
  await harm(() => over);
  await settled;
  const { ids, batch, jobs } = await work;
  const samples = await watch.stop();
  const seen = seenOf(host);
  const results = (await fleet.results(host)).map(({ job }) => job);
  const violations = [
    ...admittedInCooldown(seen, samples),
    ...cooldownMovedBack(samples),
    ...notEndedOnce(ids, jobs, batch, results),
    ...sentTwice(seen),
    ...overCap(seen, CAP),
    ...overspent(seen, jobs, batch),
  ];
  return { violations, done: batch.jobs.done };
}

/** How often workers took a job from the queue: the number of its last delivery, as its ledger has it. */
const deliveriesOf = (batch: string, url: string): Promise<unknown> =>
  fleet.client.eval(
    `return cmsgpack.unpack(redis.call('GET', KEYS[1])).v`,
    1,
    `${queueNames().prefix}:job:${fleet.jobId(batch, url)}`,
  );

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('with Redis killed nothing is dispatched, and after its return everything ends once', async () => {
  await worker('killed-1');
  await worker('killed-2');
  const outcome = await under('killed', 80, async () => {
    await fleet.until('the work is under way', async () =>
      seenOf('killed').length >= 15 ? true : undefined,
    );
    await fleet.redis.kill();
    const goneAtMs = Date.now();
    // Long enough for each request in flight to end, and for any worker that would go on by itself to do so.
    await wait(4_000);
    const after = seenOf('killed').filter(({ receivedAtMs }) => receivedAtMs > goneAtMs);
    expect(after.filter(({ admittedAtMs }) => (admittedAtMs ?? 0) > goneAtMs + 1)).toEqual([]);
    expect(after.filter(({ receivedAtMs }) => receivedAtMs > goneAtMs + 2_000)).toEqual([]);
    expect(after.length).toBeLessThanOrEqual(CAP);
    await fleet.redis.restart();
  });
  expect(outcome).toEqual({ violations: [], done: 80 });
}, 120_000);

test('scripts that are flushed every 200 ms are sent again', async () => {
  await worker('flushed-1');
  const outcome = await under('flushed', 60, async (isOver) => {
    while (!isOver()) {
      await fleet.client.script('FLUSH');
      await wait(200);
    }
  });
  expect(outcome).toEqual({ violations: [], done: 60 });
}, 120_000);

test('answers that are lost on their way charge nothing twice', async () => {
  await worker('cut-1', { REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  await worker('cut-2', { REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
  const outcome = await under('cut', 60, async (isOver) => {
    for (let cuts = 0; cuts < 15 && !isOver(); cuts += 1) {
      proxy.cutNextAnswer();
      await wait(randomInt(100, 500));
    }
  });
  expect(outcome).toEqual({ violations: [], done: 60 });
}, 120_000);

test('a worker whose clock jumps an hour ahead dispatches nothing early', async () => {
  const ahead = await worker('shifted-ahead', {
    NODE_OPTIONS: `--import=${SHIFT_CLOCK}`,
    CLOCK_JUMP_MS: '3600000',
  });
  const later = fleet.url('shifted', '/p/later');
  await fleet.enqueue('later', [later], { not_before: '+8s' });
  const enteredAtMs = await fleet.gate.now();
  const outcome = await under('shifted', 40, async () => {
    await fleet.until('the work is under way', async () =>
      seenOf('shifted').length >= 5 ? true : undefined,
    );
    ahead.kill('SIGUSR2');
    await worker('shifted-right');
  });
  expect(outcome).toEqual({ violations: [], done: 40 });
  await quietEnd(fleet, 'later', [later], ['shifted']);
  const sent = seenOf('shifted').find(({ path }) => path === '/p/later');
  expect((sent?.admittedAtMs ?? 0) - enteredAtMs).toBeGreaterThan(7_000);
  // On a clock that is ahead the queue finds every delayed job due at once: put back, it would come again for ever.
  expect(await deliveriesOf('later', later)).toBeLessThanOrEqual(6);
}, 120_000);

test.each([
  ['fast', '3600000'],
  ['slow', '-3600000'],
])(
  'a worker that is an hour %s from its start takes nothing',
  async (how, offset) => {
    const batch = `wrong-${how}`;
    const url = fleet.url('shifted', `/p/${batch}`);
    const wrong = fleet.startWorker({
      ...WORKER,
      WORKER_ID: `wrong-${how}`,
      NODE_OPTIONS: `--import=${SHIFT_CLOCK}`,
      CLOCK_OFFSET_MS: offset,
    });
    alive.push(wrong);
    await fleet.until('it has looked at the clocks', async () =>
      String(await fleet.client.client('LIST')).includes(':w:') ? true : undefined,
    );
    await fleet.enqueue(batch, [url]);
    await wait(2_000);
    expect(seenOf('shifted').filter(({ path }) => path === `/p/${batch}`)).toEqual([]);
    await worker(`right-${how}`);
    const { batch: ended } = await quietEnd(fleet, batch, [url], ['shifted']);
    expect(ended.jobs.done).toBe(1);
    expect(wrong.exitCode).toBeNull();
  },
  120_000,
);
