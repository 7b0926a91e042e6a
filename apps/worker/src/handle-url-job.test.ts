import { type BatchId, type HostKey, type JobId, PRESETS, proxyScope } from '@holdoff/throttle-core';
import { ManualClock, OPEN_BATCH, sampleOutcome } from '@holdoff/throttle-core/testing';
import { type UrlJob, urlJobId } from '@holdoff/url-job';
import { expect, test } from 'vitest';
import type { Scope } from './attempt.ts';
import type { PageExchange } from './fetch-page.ts';
import { AddressGuard } from './guard/address-guard.ts';
import { checkUrl } from './guard/check-url.ts';
import { handleUrlJob } from './handle-url-job.ts';
import {
  SAMPLE_JOB as JOB,
  sampleDelivery,
  sampleJob,
  type SampleWorld,
  sampleWorld,
} from './testing/sample-attempt.ts';

const ATTEMPT_MS = PRESETS.balanced.deadline.attemptMs;
/** The job and the instant at which the gate first heard of it. */
const KEY = `${JOB}.${new ManualClock().now().toString(36)}`;
const unavailable = { outcome: sampleOutcome('unavailable'), status: 503, body: new Uint8Array(0) };

test('a served page is handed over, settled, and completes its queue job', async () => {
  const { parts, gate, seen } = sampleWorld();
  expect(await handleUrlJob(sampleDelivery(), parts)).toEqual({ kind: 'complete', end: { kind: 'done' } });
  expect(seen.delivered).toMatchObject([{ key: KEY, outcome: 'done', attempts: 1, status: 200 }]);
  expect((await gate.inspectJob(JOB))?.ended).toEqual({ kind: 'done' });
});

test('what robots.txt took is no part of the budget of the attempt', async () => {
  const world = sampleWorld();
  const robots: typeof world.parts.robots = {
    ...world.parts.robots,
    check: async () => {
      world.clock.advance(ATTEMPT_MS);
      return { kind: 'allowed', crawlDelaySeconds: null, by: 'rules' };
    },
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, robots });
  expect(world.seen.fetched.map(({ budgetMs }) => budgetMs)).toEqual([ATTEMPT_MS]);
});

/** A book that sends the worker for the file, and knows it afterwards. */
function unknownRobots(world: ReturnType<typeof sampleWorld>, url = 'https://site.example/robots.txt') {
  const told: string[] = [];
  const ask = { origin: 'https://site.example', url, hops: 0, claim: 'c' };
  const allowed = { kind: 'allowed', crawlDelaySeconds: null, by: 'rules' } as const;
  const robots: typeof world.parts.robots = {
    ...world.parts.robots,
    check: async () => (told.length === 0 ? { kind: 'fetch', ask } : allowed),
    learn: async () => (told.push('learned'), null),
    learnRefused: async (_, detail) => void told.push(detail),
    giveUp: async () => void told.push('given up'),
  };
  return { robots, told };
}

test('a worker that was frozen after the admission of a robots.txt does not send for it', async () => {
  const world = sampleWorld();
  const { robots } = unknownRobots(world);
  const gate: typeof world.gate = {
    ...world.gate,
    async admit(request) {
      const reply = await world.gate.admit(request);
      if (request.purpose === 'robots')
        world.clock.advance(world.parts.scopeOf('https://site.example/').rules.leaseMarginMs + 1);
      return reply;
    },
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, robots, gate });
  expect(world.seen.fetched.map(({ url, budgetMs }) => [url.endsWith('/robots.txt'), budgetMs])).toEqual([
    [true, 0],
    [false, ATTEMPT_MS],
  ]);
});

test('a robots.txt that leads where nothing may be fetched from is not asked for', async () => {
  const world = sampleWorld();
  const { robots, told } = unknownRobots(world, 'http://10.0.0.1/robots.txt');
  const refuseUrl: typeof world.parts.refuseUrl = (url) =>
    url.includes('10.0.0.1') ? { reason: 'address_not_allowed', detail: 'a private address' } : null;
  await handleUrlJob(sampleDelivery(), { ...world.parts, robots, refuseUrl });
  expect(told).toEqual(['a private address']);
  expect(world.seen.fetched.map(({ url }) => url)).toEqual(['https://site.example/page']);
});

test('a gate that is away while it is asked for a robots.txt leaves the file to others', async () => {
  const world = sampleWorld();
  const { robots, told } = unknownRobots(world);
  const gate = { ...world.gate, admit: () => Promise.reject(new Error('away')) };
  await expect(handleUrlJob(sampleDelivery(), { ...world.parts, robots, gate })).rejects.toThrow('away');
  expect(told).toEqual(['given up']);
});

test('all hops of an attempt share one budget', async () => {
  const world = sampleWorld(({ url }) => {
    world.clock.advance(12_000);
    const redirectTo = url.endsWith('/page') ? 'https://other.example/end' : null;
    return { redirectTo, status: redirectTo === null ? 200 : 302 };
  });
  await handleUrlJob(sampleDelivery(), world.parts);
  expect(world.seen.fetched.map(({ budgetMs }) => budgetMs)).toEqual([ATTEMPT_MS, ATTEMPT_MS - 12_000]);
  expect(world.seen.delivered).toMatchObject([{ finalUrl: 'https://other.example/end', attempts: 1 }]);
});

test('a worker that was frozen after its admission sends nothing', async () => {
  const world = sampleWorld();
  const conditionalHeaders = async () => {
    world.clock.advance(world.parts.scopeOf('https://site.example/').rules.leaseMarginMs + 1);
    return {};
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, conditionalHeaders });
  expect(world.seen.fetched).toMatchObject([{ budgetMs: 0 }]);
});

test('a delivery that is cut before it asks is put back and charged nothing', async () => {
  const { parts, gate, seen, clock } = sampleWorld();
  const delivery = sampleDelivery({ signal: AbortSignal.abort() });
  expect(await handleUrlJob(delivery, parts)).toEqual({ kind: 'delay', untilMs: clock.now(), data: null });
  expect(seen.fetched).toEqual([]);
  expect(await gate.inspectJob(JOB)).toBeUndefined();
});

const idOf = (job: UrlJob): JobId => urlJobId(job) as string as JobId;
const PROXY = proxyScope('p1');
const exitOf = () => ({ proxy: 'p1', session: null });
const proxyDown: Partial<PageExchange> = {
  outcome: { class: 'neutral', source: 'proxy', stop: null, detail: 'proxy p1: ECONNREFUSED' },
  status: 0,
  sent: false,
  proxyFailure: 'proxy',
};

/** Five jobs of another batch find the proxy down. */
async function failProxy(world: SampleWorld): Promise<void> {
  for (const n of [1, 2, 3, 4, 5]) {
    const job = sampleJob({ batch: `before-${n}` });
    await handleUrlJob(sampleDelivery({ job: idOf(job), data: job }), world.parts);
    // The pace of a new host.
    world.clock.advance(1_000);
  }
}

test('a proxy that is left alone makes a job wait in its line, and asks nothing of the host', async () => {
  const world = sampleWorld(() => proxyDown, { exitOf });
  await failProxy(world);
  const hostBefore = await world.gate.inspectHost('site.example' as HostKey);
  const said = await handleUrlJob(sampleDelivery(), world.parts);
  expect(said).toMatchObject({ kind: 'delay', data: null });
  expect(world.seen.fetched).toHaveLength(5);
  expect(await world.gate.inspectHost(PROXY)).toMatchObject({ circuit: { state: 'open' } });
  expect(await world.gate.inspectHost('site.example' as HostKey)).toEqual(hostBefore);
  expect(hostBefore).toMatchObject({ circuit: { state: 'closed' }, cooldownUntilMs: 0, leases: [] });
});

test('what a proxy did not carry costs its job no attempt, no token, and no attempt of its limit', async () => {
  const policy = { ...PRESETS.balanced, attempts: { ...PRESETS.balanced.attempts, totalMax: 2 } };
  const world = sampleWorld(() => proxyDown, { exitOf }, policy);
  const { gate, clock, seen, parts } = world;
  for (let number = 1; number <= 40; number += 1) {
    const said = await handleUrlJob(sampleDelivery({ number }), parts);
    if (said.kind !== 'delay') throw new Error(`it ended: ${JSON.stringify(said)}`);
    clock.advance(Math.max(0, said.untilMs - clock.now()));
  }
  expect(seen.fetched.length).toBeGreaterThan(8);
  expect(await gate.inspectJob(JOB)).toMatchObject({ facts: { attempts: 1 }, ended: null });
  expect(await gate.inspectBatch('nightly' as BatchId)).toMatchObject({ attempts: 1 });
});

test.each([
  { what: 'answers', exchange: {}, circuit: 'closed' },
  {
    what: 'is throttled, which is the host speaking,',
    exchange: { outcome: sampleOutcome('throttled'), status: 429, headers: { 'retry-after': ['60'] } },
    circuit: 'closed',
  },
  { what: 'finds the proxy down again', exchange: proxyDown, circuit: 'open' },
])('the one job that tries a failed proxy and $what', async ({ exchange, circuit }) => {
  let now: Partial<PageExchange> = proxyDown;
  const world = sampleWorld(() => now, { exitOf });
  await failProxy(world);
  world.clock.advance(30_000);
  now = exchange;
  await handleUrlJob(sampleDelivery(), world.parts);
  expect(await world.gate.inspectHost(PROXY)).toMatchObject({ circuit: { state: circuit } });
  const { cooldownUntilMs } = (await world.gate.inspectHost('site.example' as HostKey)) ?? {};
  expect((cooldownUntilMs ?? 0) > world.clock.now()).toBe('status' in exchange && exchange.status === 429);
});

test('a trial that its host does not admit is free for another job at once', async () => {
  const world = sampleWorld(() => proxyDown, { exitOf });
  await failProxy(world);
  world.clock.advance(30_000);
  await world.gate.hold('site.example' as HostKey, 'test', 'owner');
  await handleUrlJob(sampleDelivery(), world.parts);
  expect(await world.gate.inspectHost(PROXY)).toMatchObject({ circuit: { state: 'half_open', probe: null } });
});

test('a job that its proxy keeps past its deadline ends for that', async () => {
  const world = sampleWorld(() => proxyDown, { exitOf });
  await failProxy(world);
  const { rules, host } = world.parts.scopeOf('https://site.example/');
  const deadlineMs = world.clock.now() + rules.attemptMs + rules.headroomMs;
  const entering = { job: JOB, host, rules, priority: 50, notBeforeMs: 0, deadlineMs };
  await world.gate.enter({ batch: 'nightly' as BatchId, batchDefaults: OPEN_BATCH, jobs: [entering] });
  expect((await handleUrlJob(sampleDelivery(), world.parts)).kind).toBe('complete');
  expect(world.seen.delivered.map(({ reason }) => reason)).toEqual(['deadline']);
});

test('each exit is a scope of its own where the policy says so', async () => {
  const throttled = { outcome: sampleOutcome('throttled'), status: 429, headers: { 'retry-after': ['60'] } };
  const world = sampleWorld(() => throttled, { exitOf });
  const scopeOf = (url: string): Scope => {
    const scope = world.parts.scopeOf(url);
    return { ...scope, settings: { ...scope.settings, throttleScope: 'exit' } };
  };
  await handleUrlJob(sampleDelivery(), { ...world.parts, scopeOf });
  const through = await world.gate.inspectHost('site.example:via:p1' as HostKey);
  expect(through?.cooldownUntilMs).toBeGreaterThan(world.clock.now());
  expect(await world.gate.inspectHost('site.example' as HostKey)).toBeUndefined();
});

test('a job that is refused after earlier attempts says how many it made', async () => {
  const { parts, gate, seen, clock } = sampleWorld(() => unavailable);
  const first = await handleUrlJob(sampleDelivery(), parts);
  if (first.kind !== 'delay') throw new Error(`a retry was expected, not ${first.kind}`);
  clock.advance(first.untilMs - clock.now());
  await gate.cancelBatch('nightly' as BatchId, 'owner');
  const second = await handleUrlJob(sampleDelivery({ number: 2 }), parts);
  expect(second).toEqual({ kind: 'complete', end: { kind: 'stopped', reason: 'cancelled' } });
  expect(seen.fetched).toHaveLength(1);
  expect(seen.delivered).toMatchObject([{ key: KEY, reason: 'cancelled', attempts: 1 }]);
});

test.each([
  ['javascript:alert(1)', 'invalid_url'],
  ['mailto:a@b.test', 'invalid_url'],
  ['file:///etc/passwd', 'invalid_url'],
  ['http://unix:/var/run/docker.sock:/info', 'invalid_url'],
  ['http://10.0.0.1/', 'address_not_allowed'],
  ['http://[::ffff:a9fe:a9fe]/', 'address_not_allowed'],
  ['http://other.example:6379/', 'address_not_allowed'],
] as const)(
  'a redirect to %s ends the job with %s, and the host that redirected is settled',
  async (to, reason) => {
    const guard = new AddressGuard({ extraPorts: [], allowedNetworks: [] });
    const world = sampleWorld(() => ({ redirectTo: to, status: 302 }), {
      refuseUrl: (url) => {
        const verdict = checkUrl(url, guard);
        return verdict.kind === 'ok' ? null : { reason: verdict.stop, detail: verdict.detail };
      },
    });
    const http = sampleJob({ url: 'http://site.example/page' });
    const said = await handleUrlJob(sampleDelivery({ data: http, job: idOf(http) }), world.parts);
    expect(said).toEqual({ kind: 'complete', end: { kind: 'stopped', reason } });
    expect(world.seen.fetched).toHaveLength(1);
    expect(world.seen.delivered).toMatchObject([{ reason, attempts: 1 }]);
    expect((await world.gate.inspectHost('site.example' as HostKey))?.leases).toEqual([]);
  },
);

test('a job that must wait at a redirect target goes on there', async () => {
  const world = sampleWorld(() => ({ redirectTo: 'https://held.example/end', status: 302 }));
  const { host } = world.parts.scopeOf('https://held.example/');
  await world.gate.hold(host, 'test', 'owner');
  const said = await handleUrlJob(sampleDelivery(), world.parts);
  expect(said).toMatchObject({
    kind: 'delay',
    data: { url: sampleJob().url, hop: { url: 'https://held.example/end', count: 1, asked: false } },
  });
});

test('the header set of the policy goes to the own origin of a job that names none', async () => {
  const sent = async (headersRef: string | null) => {
    const world = sampleWorld();
    const named: (string | null)[] = [];
    const scopeOf: typeof world.parts.scopeOf = (url) => {
      const scope = world.parts.scopeOf(url);
      return { ...scope, settings: { ...scope.settings, headersRef: 'policy-set' } };
    };
    await handleUrlJob(sampleDelivery({ data: sampleJob({ headersRef }) }), {
      ...world.parts,
      scopeOf,
      headersOf: (name) => (named.push(name), { authorization: String(name) }),
      conditionalHeaders: async (_, name) => (named.push(name), {}),
    });
    return { named, authorization: world.seen.fetched[0]?.headers['authorization'] };
  };
  expect(await sent(null)).toEqual({ named: ['policy-set', 'policy-set'], authorization: 'policy-set' });
  expect(await sent('own-set')).toEqual({ named: ['own-set', 'own-set'], authorization: 'own-set' });
});

test('a redirect that names a wait, to where nothing may be fetched from, ends its job at once', async () => {
  const world = sampleWorld(() => ({
    redirectTo: 'ftp://site.example/file',
    status: 302,
    headers: { 'retry-after': ['1'] },
  }));
  const refuseUrl: typeof world.parts.refuseUrl = (url) =>
    url.startsWith('ftp:') ? { reason: 'invalid_url', detail: 'neither http nor https' } : null;
  const ended = await handleUrlJob(sampleDelivery(), { ...world.parts, refuseUrl });
  expect(ended).toEqual({ kind: 'complete', end: { kind: 'stopped', reason: 'invalid_url' } });
  expect(world.seen.delivered).toMatchObject([{ outcome: 'stopped', reason: 'invalid_url', status: 302 }]);
});
