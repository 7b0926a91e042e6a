import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId, HostKey, JobId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';
import { type ProxyProcess, startProxy } from './proxy-fleet.ts';

/**
 * Jobs through real proxy processes. Two workers, so that what one learns of a proxy must reach the other. The open time
 * of a proxy's circuit is 30 s, which the recovery stories wait out together.
 */
const POLICY = `
preset: balanced
concurrency: 8
attempt_budget: 4s
attempts: { max_total: 2 }
backoff: { base: 50ms, cap: 100ms }
batch_tokens: { share: 0, least: 0 }
host_tokens: { per_success: 0.1, cap: 1, start: 0 }
pace: { learn: { start: 200/s } }
ramp: off
hosts:
  HOST:down: { proxy: down }
  HOST:login: { proxy: login }
  HOST:gateway: { proxy: gateway }
  HOST:timeout: { proxy: timeout }
  HOST:unreachable: { proxy: unreachable }
  HOST:limited: { proxy: fine }
  HOST:socks: { proxy: socks }
  HOST:healthy: { proxy: fine }
  HOST:shared: { proxy: pair, throttle_scope: exit, concurrency: 2 }
`;
const NAMES = [
  'down',
  'login',
  'gateway',
  'timeout',
  'unreachable',
  'fine',
  'socks',
  'pair-a',
  'pair-b',
] as const;
const run = promisify(execFile);

let fleet: Fleet;
let folder = '';
const proxies = new Map<string, ProxyProcess>();

const proxy = (name: (typeof NAMES)[number]): ProxyProcess => {
  const known = proxies.get(name);
  if (known === undefined) throw new Error(`no proxy ${name}`);
  return known;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-proxies-'));
  for (const name of NAMES)
    proxies.set(name, await startProxy(name === 'socks' || name === 'unreachable' ? 'socks5' : 'http'));
  const pools = Object.fromEntries(
    NAMES.filter((name) => !name.startsWith('pair')).map((name) => [
      name,
      { proxies: [{ name, url: proxy(name).url }] },
    ]),
  );
  const pair = { proxies: (['pair-a', 'pair-b'] as const).map((name) => ({ name, url: proxy(name).url })) };
  await writeFile(join(folder, 'proxies.json'), JSON.stringify({ ...pools, pair }));
  fleet = await startFleet({
    policy: POLICY,
    workers: 2,
    environment: { PROXIES_FILE: join(folder, 'proxies.json') },
    hosts: [
      ...['down', 'login', 'gateway', 'timeout', 'unreachable', 'socks', 'healthy'].map((name) => ({ name })),
      {
        name: 'limited',
        rules: [{ path: '/p/*', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 2 } }],
      },
      { name: 'shared' },
    ],
  });
}, 120_000);
afterAll(async () => {
  await fleet?.stop();
  for (const each of proxies.values()) await each.kill();
  await rm(folder, { recursive: true, force: true });
});

const seenOf = (host: string) =>
  fleet.origin.log().filter((request) => request.host === host && request.job !== null);
const urlsOf = (host: string, count: number) =>
  Array.from({ length: count }, (_, n) => fleet.url(host, `/p/${n}`));

async function holdoff(...args: string[]): Promise<string> {
  const command = ['--enable-source-maps', 'apps/cli/dist/main.js', ...args, '--redis', fleet.redis.url];
  const { stdout } = await run(process.execPath, command, { env: { ...process.env, NO_COLOR: '1' } });
  return stdout;
}

test('pages come through HTTP and SOCKS5 proxies, by the address that was checked', async () => {
  for (const host of ['healthy', 'socks']) {
    await fleet.enqueue(host, urlsOf(host, 6));
    const { jobs } = await fleet.ended(host, 6);
    expect(jobs).toMatchObject({ done: 6, stopped: 0 });
    const asked = await proxy(host === 'socks' ? 'socks' : 'fine').behave('tunnel');
    expect(asked).toContain(new URL(fleet.url(host, '/')).host);
    expect(seenOf(host)).toHaveLength(6);
  }
  expect(await fleet.gate.inspectHost('proxy:socks' as HostKey)).toBeUndefined();
});

test('a 429 of the host is the host’s, through the same exit, and the proxy goes on for others', async () => {
  await fleet.enqueue('limited', urlsOf('limited', 1), {});
  await fleet.until('the cooldown is known', async () =>
    ((await fleet.gate.inspectHost(fleet.hostKey('limited')))?.cooldownUntilMs ?? 0) > 0 ? true : undefined,
  );
  expect(await fleet.gate.inspectHost('proxy:fine' as HostKey)).toBeUndefined();
  await fleet.enqueue('beside', [fleet.url('healthy', '/p/beside')]);
  await fleet.ended('beside', 1, 2_000 + 10_000);
  // The batch has no tokens, so the refused job ends; what counts is who was told to wait.
  await fleet.ended('limited', 1);
  expect(seenOf('limited').map(({ status }) => status)).toEqual([429]);
});

/** Every way in which a proxy can fail a job before the host has heard of it. */
const FAILURES = [
  { host: 'down', fails: (one: ProxyProcess) => one.kill(), mends: (one: ProxyProcess) => one.restart() },
  { host: 'login', fails: 407, mends: 'tunnel' },
  { host: 'gateway', fails: 502, mends: 'tunnel' },
  { host: 'timeout', fails: 504, mends: 'tunnel' },
  { host: 'unreachable', fails: 4, mends: 'tunnel' },
] as const;

test.concurrent.each(FAILURES)(
  'a proxy that fails ($host, $fails) costs its jobs nothing, is tried by exactly one, and then serves all',
  async ({ host, fails, mends }) => {
    const one = proxy(host);
    if (typeof fails === 'number') await one.behave(fails);
    else await fails(one);
    const urls = urlsOf(host, 40);
    await fleet.enqueue(host, urls);
    const scope = `proxy:${host}` as HostKey;
    const open = await fleet.until('its circuit is open', async () => {
      const state = await fleet.gate.inspectHost(scope);
      return state?.circuit.state === 'open' ? state : undefined;
    });
    expect(open.why).toMatch(/^proxy \S+: /u);
    const refusedBefore = typeof fails === 'number' ? (await one.behave(fails)).length : 0;
    expect(seenOf(host)).toEqual([]);
    const hostState = await fleet.gate.inspectHost(fleet.hostKey(host));
    expect(hostState?.circuit.state).toBe('closed');
    expect(hostState?.cooldownUntilMs).toBe(0);

    // Somebody who looks is told what the job waits for.
    await fleet.until('jobs stand in its line', async () =>
      ((await fleet.gate.inspectHost(scope))?.waiting ?? 0) > 0 ? true : undefined,
    );
    const [waiting] = await fleet.gate.listLane(scope, 0, 1);
    const job = await fleet.gate.inspectJob(waiting ?? ('none' as JobId));
    expect(job?.waiting).toMatchObject({ cause: 'circuit_open', scope });
    const told = await holdoff('explain', waiting ?? '');
    expect(told).toContain(`its proxy ${host} fails and is left alone`);

    if (typeof mends === 'string') await one.behave(mends);
    else await mends(one);
    const batch = await fleet.ended(host, urls.length, 120_000);
    // No attempt and no token were lost, although the batch has no tokens and the jobs two attempts.
    expect(batch).toMatchObject({ jobs: { done: urls.length, stopped: 0 }, attempts: urls.length });
    expect(batch.tokens?.spent ?? 0).toBe(0);
    const seen = seenOf(host);
    expect(seen).toHaveLength(urls.length);
    // The trial: nobody else was sent before the first was answered.
    const [first, ...others] = seen.toSorted((a, b) => a.receivedAtMs - b.receivedAtMs);
    const tooEarly = others.filter(({ receivedAtMs }) => receivedAtMs < (first?.answeredAtMs ?? 0));
    expect(tooEarly).toEqual([]);
    expect((await fleet.gate.inspectHost(scope))?.circuit).toMatchObject({ state: 'closed', opens: 0 });
    expect(refusedBefore).toBeLessThan(60);
  },
  200_000,
);

test('where the policy says so, each exit has its own limits, and the owner’s commands mean all of them', async () => {
  const urls = urlsOf('shared', 40);
  const keys = ['pair-a', 'pair-b'].map((name) => `${fleet.hostKey('shared')}:via:${name}` as HostKey);
  const host = new URL(fleet.url('shared', '/')).hostname;
  const paused = await holdoff('host', 'pause', host, '--json');
  expect((JSON.parse(paused) as readonly { host: string }[]).map((each) => each.host)).toEqual(keys);
  await fleet.enqueue('shared', urls);
  await fleet.until('all stand in the lines of the exits', async () => {
    const lanes = await Promise.all(keys.map((key) => fleet.gate.inspectHost(key)));
    return lanes.reduce((sum, each) => sum + (each?.waiting ?? 0), 0) === urls.length ? true : undefined;
  });
  expect(seenOf('shared')).toEqual([]);
  await holdoff('host', 'resume', host);
  const { jobs } = await fleet.ended('shared', urls.length);
  expect(jobs.done).toBe(urls.length);
  // Two for each exit, and both were used at once.
  expect(Math.max(...seenOf('shared').map(({ inFlight }) => inFlight))).toBeLessThanOrEqual(4);
  expect(await fleet.gate.inspectHost(fleet.hostKey('shared'))).toBeUndefined();
  for (const key of keys) expect(await fleet.gate.inspectHost(key)).toMatchObject({ waiting: 0, leases: [] });
  const shown = await holdoff('explain', host);
  for (const key of keys) expect(shown).toContain(key);
  const batch = await fleet.gate.inspectBatch('shared' as BatchId);
  expect(batch?.attempts).toBe(urls.length);
});
