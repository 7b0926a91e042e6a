import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId, JobId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';

/**
 * One story for each row of the action table, told by a real fleet against a real server. The policy's limits are
 * scaled down (30 s becomes 1 s, 300 s becomes 3 s, 1 h becomes 6 s) so that a story takes seconds.
 */
const POLICY = `
preset: balanced
retry_after:
  in_place_max: 1s
  defer_over: 3s
  host_pause_max: 6s
  no_hint_pause: { base: 1s, cap: 2s }
  hold_after_events: 3
backoff: { base: 100ms, cap: 500ms }
attempts: { max_429_per_run: 2 }
defer: { next_run_after: 2s }
attempt_budget: 5s
batch_tokens: { share: 1 }
pace: { learn: { start: 50/s } }
hosts:
  HOST:circuit: { circuit: { events: 2, open: 1s, growth: 1 }, attempts: { max_429_per_run: 20 }, concurrency: 2 }
`;

let fleet: Fleet;
const refusedOnce = (retryAfterSeconds?: number) => [
  {
    path: '/p/*',
    times: 1,
    answer: {
      kind: 'status' as const,
      status: 429,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  },
];

beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    hosts: [
      { name: 'short', rules: refusedOnce(1) },
      { name: 'middle', rules: refusedOnce(2) },
      { name: 'long', rules: refusedOnce(4) },
      { name: 'silent', rules: refusedOnce() },
      { name: 'mute', rules: [{ path: '/p/*', answer: { kind: 'status', status: 429 } }] },
      { name: 'very-long', rules: refusedOnce(3_600) },
      {
        name: 'stubborn',
        rules: [{ path: '/p/*', times: 3, answer: { kind: 'status', status: 429, retryAfterSeconds: 0 } }],
      },
      {
        name: 'circuit',
        // Twice each: whichever is asked after the first event makes the second.
        rules: [{ path: '/p/*', times: 2, answer: { kind: 'status', status: 429, retryAfterSeconds: 0 } }],
      },
      {
        name: 'busy',
        rules: [{ path: '/p/*', times: 2, answer: { kind: 'status', status: 503, retryAfterSeconds: 1 } }],
      },
      { name: 'broken', rules: [{ path: '/p/*', answer: { kind: 'status', status: 502 } }] },
      {
        name: 'answers',
        rules: [
          { path: '/gone', answer: { kind: 'status', status: 410 } },
          { path: '/missing', answer: { kind: 'status', status: 404 } },
          { path: '/forbidden', answer: { kind: 'status', status: 403 } },
          { path: '/challenge', answer: { kind: 'challenge' } },
          { path: '/loop', answer: { kind: 'redirect', hops: 2, loop: true } },
          { path: '/moved', answer: { kind: 'redirect' } },
          { path: '/moved-later', answer: { kind: 'redirect', retryAfterSeconds: 2 } },
        ],
      },
      {
        name: 'door',
        rules: [{ path: '/in/*', answer: { kind: 'redirect', toHost: 'short', toPath: '/p/target' } }],
      },
      { name: 'fenced', robots: 'User-agent: *\nDisallow: /private' },
    ],
  });
}, 60_000);
afterAll(() => fleet?.stop());

/** Enqueues one page of a host under a batch of its own and waits for its end. */
async function tell(host: string, withinMs = 30_000) {
  const url = fleet.url(host, `/p/${host}`);
  await fleet.enqueue(host, [url]);
  const batch = await fleet.ended(host, 1, withinMs);
  const seen = fleet.origin
    .log()
    .filter((request) => request.host === host && request.path.startsWith('/p/'));
  const results = await fleet.results(host);
  const job = await fleet.gate.inspectJob(fleet.jobId(host, url) as JobId);
  return { batch, seen, results, job, gapMs: (seen[1]?.receivedAtMs ?? 0) - (seen[0]?.receivedAtMs ?? 0) };
}

test('429 with a short wait is asked again in place, after the padded wait, under the same id', async () => {
  const { batch, seen, results, gapMs } = await tell('short');
  expect(seen.map((request) => request.status)).toEqual([429, 200]);
  expect(new Set(seen.map((request) => request.job)).size).toBe(1);
  expect(gapMs).toBeGreaterThanOrEqual(2_000);
  expect(batch).toMatchObject({
    jobs: { done: 1 },
    deferrals: 0,
    attempts: 2,
    recovered: 1,
    tokens: { spent: 1 },
  });
  expect(results).toHaveLength(1);
});

test('429 with a longer wait gives its slot back, and stays in its run', async () => {
  const { batch, seen, gapMs } = await tell('middle');
  expect(seen.map((request) => request.status)).toEqual([429, 200]);
  expect(gapMs).toBeGreaterThanOrEqual(3_000);
  expect(batch).toMatchObject({ jobs: { done: 1 }, deferrals: 0 });
});

test('429 with a long wait is deferred to the server’s instant, never before it', async () => {
  const { batch, seen, job, gapMs } = await tell('long');
  expect(seen.map((request) => request.status)).toEqual([429, 200]);
  expect(gapMs).toBeGreaterThanOrEqual(5_000);
  expect(batch).toMatchObject({ jobs: { done: 1 }, deferrals: 1 });
  expect(job?.facts).toMatchObject({ attempts: 2, deferrals: 1, run: 2 });
});

test('429 without a usable wait is deferred by our own back-off', async () => {
  const { batch, seen, gapMs } = await tell('silent');
  expect(seen.map((request) => request.status)).toEqual([429, 200]);
  expect(gapMs).toBeGreaterThanOrEqual(200);
  expect(batch).toMatchObject({ jobs: { done: 1 }, deferrals: 1 });
});

test('a host that keeps throttling without a wait is held for its owner', async () => {
  const urls = [1, 2, 3, 4].map((n) => fleet.url('mute', `/p/${n}`));
  await fleet.enqueue('mute', urls);
  const held = await fleet.until('mute is held', async () => {
    const host = await fleet.gate.inspectHost(fleet.hostKey('mute'));
    return host?.hold === null ? undefined : host;
  });
  expect(held.hold?.reason).toMatch(/3 throttling events/);
  const before = fleet.origin.log().filter((request) => request.host === 'mute').length;
  expect(before).toBeLessThanOrEqual(8);
});

test('a wait beyond what a host is paused for holds it; its owner lets it go on', async () => {
  const url = fleet.url('very-long', '/p/very-long');
  await fleet.enqueue('very-long', [url]);
  const key = fleet.hostKey('very-long');
  const held = await fleet.until('very-long is held', async () => {
    const host = await fleet.gate.inspectHost(key);
    return host === undefined || host.hold === null ? undefined : host;
  });
  expect(held.cooldownUntilMs - held.nowMs).toBeGreaterThan(3_500_000);
  expect((await fleet.gate.inspectBatch('very-long' as BatchId))?.jobs).toMatchObject({
    done: 0,
    stopped: 0,
  });
});

test('more 429s than a run may have end the run, not the job', async () => {
  const { batch, seen, job } = await tell('stubborn', 40_000);
  expect(seen.map((request) => request.status)).toEqual([429, 429, 429, 200]);
  expect(batch).toMatchObject({ jobs: { done: 1 }, deferrals: 1, throttled: 3 });
  expect(job?.facts).toMatchObject({ attempts: 4, run: 2 });
});

test('429 events in a row open the circuit for the whole fleet, and one probe closes it', async () => {
  const urls = Array.from({ length: 4 }, (_, n) => fleet.url('circuit', `/p/${n}`));
  await fleet.enqueue('circuit', urls);
  const open = await fleet.until('the circuit opened', async () => {
    const host = await fleet.gate.inspectHost(fleet.hostKey('circuit'));
    return host !== undefined && host.circuit.opens > 0 ? host : undefined;
  });
  expect(open.circuit.openUntilMs).toBeGreaterThan(0);
  const batch = await fleet.ended('circuit', 4, 60_000);
  expect(batch.jobs).toMatchObject({ done: 4 });
  expect((await fleet.gate.inspectHost(fleet.hostKey('circuit')))?.circuit.state).toBe('closed');
}, 90_000);

test('503 waits as the server asks, and counts for nothing else', async () => {
  const { batch, seen, gapMs } = await tell('busy');
  expect(seen.map((request) => request.status)).toEqual([503, 503, 200]);
  expect(gapMs).toBeGreaterThanOrEqual(1_000);
  expect(batch).toMatchObject({ jobs: { done: 1 }, throttled: 0, recovered: 1 });
  expect((await fleet.gate.inspectHost(fleet.hostKey('busy')))?.circuit).toMatchObject({ state: 'closed' });
});

test('a host that only fails ends its URLs with a reason, within the retry tokens', async () => {
  const urls = Array.from({ length: 30 }, (_, n) => fleet.url('broken', `/p/${n}`));
  await fleet.enqueue('broken', urls);
  const batch = await fleet.ended('broken', 30, 60_000);
  const seen = fleet.origin
    .log()
    .filter((request) => request.host === 'broken' && request.path.startsWith('/p/'));
  expect(batch.jobs).toMatchObject({ done: 0, stopped: 30 });
  expect(batch.stoppedBy.retry_budget ?? 0).toBeGreaterThan(0);
  expect(seen.length).toBeLessThanOrEqual(30 + (batch.tokens?.total ?? 0));
  expect(seen.length).toBe(batch.attempts);
}, 90_000);

test.each([
  ['/gone', 'permanent', 410],
  ['/missing', 'permanent', 404],
  ['/forbidden', 'blocked', 403],
  ['/challenge', 'blocked', 403],
  ['/loop', 'redirect_loop', 302],
])('%s stops as %s', async (path, reason, status) => {
  const batch = `answers-${path.slice(1)}`;
  await fleet.enqueue(batch, [fleet.url('answers', path)]);
  await fleet.ended(batch, 1);
  expect(await fleet.results(batch)).toMatchObject([{ outcome: 'stopped', reason, status }]);
});

test('a redirect is followed in the same attempt', async () => {
  await fleet.enqueue('moved', [fleet.url('answers', '/moved')]);
  const batch = await fleet.ended('moved', 1);
  expect(batch).toMatchObject({ jobs: { done: 1 }, attempts: 1, tokens: { spent: 0 } });
  expect(await fleet.results('moved')).toMatchObject([{ outcome: 'done', status: 200, attempts: 1 }]);
});

test('a redirect that names a wait is followed after it, in the same attempt', async () => {
  await fleet.enqueue('moved-later', [fleet.url('answers', '/moved-later')]);
  const batch = await fleet.ended('moved-later', 1);
  const hops = fleet.origin.log().filter((request) => request.path.includes('moved-later'));
  expect(hops.map((request) => request.status)).toEqual([302, 200]);
  expect((hops[1]?.receivedAtMs ?? 0) - (hops[0]?.receivedAtMs ?? 0)).toBeGreaterThanOrEqual(2_000);
  expect(batch).toMatchObject({ jobs: { done: 1 }, attempts: 1, tokens: { spent: 0 } });
});

test('a redirect target that throttles is asked again itself, and its own host learns the wait', async () => {
  await fleet.enqueue('hop', [fleet.url('door', '/in/x')]);
  const batch = await fleet.ended('hop', 1);
  const asked = fleet.origin
    .log()
    .filter((request) => request.path === '/in/x' || request.path === '/p/target');
  expect(asked.map(({ host, status }) => `${host} ${status}`)).toEqual([
    'door 302',
    'short 429',
    'short 200',
  ]);
  expect(batch).toMatchObject({ jobs: { done: 1 }, attempts: 2, tokens: { spent: 1 } });
  expect((await fleet.gate.inspectHost(fleet.hostKey('door')))?.cooldownUntilMs).toBe(0);
});

test.each([
  ['an address that is not allowed', 'http://10.0.0.1/', 'address_not_allowed'],
  ['a name that does not exist', 'http://no-such-host.invalid/', 'dns'],
])('%s stops as client fault, and nothing is sent', async (_name, url, reason) => {
  const batch = `client-${reason}`;
  await fleet.enqueue(batch, [url]);
  await fleet.ended(batch, 1);
  expect(await fleet.results(batch)).toMatchObject([{ outcome: 'stopped', reason, status: 0 }]);
});

test('robots.txt is obeyed', async () => {
  await fleet.enqueue('fenced', [fleet.url('fenced', '/private/a'), fleet.url('fenced', '/public')]);
  await fleet.ended('fenced', 2);
  const results = await fleet.results('fenced');
  expect(results.map(({ outcome, reason }) => reason ?? outcome).toSorted()).toEqual(['done', 'robots']);
  expect(fleet.origin.log().some((request) => request.path === '/private/a')).toBe(false);
});

test('a deadline that cannot be met ends a URL before anything is sent', async () => {
  await fleet.enqueue('late', [fleet.url('short', '/late')], { deadline: '+1s' });
  await fleet.ended('late', 1);
  expect(await fleet.results('late')).toMatchObject([{ outcome: 'stopped', reason: 'deadline', status: 0 }]);
});

test('a deadline ends a waiting URL also while its host is held', async () => {
  await fleet.gate.hold(fleet.hostKey('answers'), 'maintenance', 'owner');
  await fleet.enqueue('held', [fleet.url('answers', '/held')], { deadline: '+7s' });
  await fleet.ended('held', 1, 20_000);
  await fleet.gate.resume(fleet.hostKey('answers'));
  expect(await fleet.results('held')).toMatchObject([{ outcome: 'stopped', reason: 'deadline' }]);
});

test('a batch that is not approved, and one that was cancelled, send nothing', async () => {
  const defaults = {
    tokens: { kind: 'off' } as const,
    approved: false,
    owner: 'me',
    deadlineMs: 0,
    spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
  };
  await fleet.gate.createBatch({ batch: 'unapproved' as BatchId, defaults });
  await fleet.gate.createBatch({ batch: 'cancelled' as BatchId, defaults: { ...defaults, approved: true } });
  await fleet.gate.hold(fleet.hostKey('answers'), 'wait for it', 'owner');
  await fleet.enqueue('unapproved', [fleet.url('answers', '/unapproved')]);
  await fleet.enqueue('cancelled', [fleet.url('answers', '/cancelled')]);
  await fleet.until('both entered', async () => {
    const both = await Promise.all(
      ['unapproved', 'cancelled'].map((name) => fleet.gate.inspectBatch(name as BatchId)),
    );
    return both.every((batch) => batch?.jobs.total === 1) ? true : undefined;
  });
  await fleet.gate.cancelBatch('cancelled' as BatchId, 'owner');
  await fleet.gate.resume(fleet.hostKey('answers'));
  await fleet.ended('cancelled', 1);
  await fleet.ended('unapproved', 1);
  expect(await fleet.results('cancelled')).toMatchObject([{ reason: 'cancelled', status: 0 }]);
  expect(await fleet.results('unapproved')).toMatchObject([{ reason: 'not_approved', status: 0 }]);
});
