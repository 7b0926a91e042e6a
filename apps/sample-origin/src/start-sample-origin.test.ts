import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import type { OriginDescriptionInput, RuleInput } from './description.ts';
import { SCENARIOS } from './scenarios.ts';
import { type OriginStats, type SampleOrigin, startSampleOrigin } from './start-sample-origin.ts';

let origin: SampleOrigin | undefined;
afterEach(async () => {
  await origin?.stop();
  origin = undefined;
});

async function start(description: OriginDescriptionInput): Promise<SampleOrigin> {
  origin = await startSampleOrigin(description);
  return origin;
}
const oneHost = (host: Omit<OriginDescriptionInput['hosts'][number], 'name'> = {}): Promise<SampleOrigin> =>
  start({ hosts: [{ name: 'h', ...host }] });
const answering = (answer: RuleInput['answer']): Promise<SampleOrigin> => oneHost({ rules: [{ answer }] });

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
  readonly body: Buffer;
}

/** A plain client: no retries, no redirects, repeated header lines kept. Rejects when the exchange breaks. */
async function get(
  url: string,
  options: { headers?: Record<string, string>; agent?: Agent; method?: string; signal?: AbortSignal } = {},
): Promise<Got> {
  const sent = request(url, { maxHeaderSize: 1024 ** 2, ...options });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headersDistinct, body: Buffer.concat(parts) };
}
const statsOf = (name = 'h') => {
  const found = origin?.stats().hosts.find(({ host }) => host === name);
  if (found === undefined) throw new Error(`no host ${name}`);
  return found;
};

test('with listen all hosts share one address, are told apart by name, and know themselves by it', async () => {
  const { hosts, port } = await start({
    listen: '127.77.9.9',
    hosts: [
      { name: 'slow.demo', rules: [{ answer: { kind: 'redirect', toHost: 'free.demo' } }] },
      { name: 'free.demo' },
    ],
  });
  expect([...hosts.values()]).toEqual([`http://slow.demo:${port}`, `http://free.demo:${port}`]);
  const ask = (host: string): Promise<Got> => get(`http://127.77.9.9:${port}/`, { headers: { host } });
  expect((await ask('slow.demo')).headers['location']).toEqual([
    expect.stringContaining(`http://free.demo:${port}`),
  ]);
  expect((await ask('FREE.demo:80')).status).toBe(200);
  expect((await ask('elsewhere')).status).toBe(421);
  expect([statsOf('slow.demo').requests, statsOf('free.demo').requests]).toEqual([1, 1]);
});

test('listen and an address of one host contradict each other', async () => {
  await expect(start({ listen: '127.0.0.1', hosts: [{ name: 'a', address: '127.0.0.2' }] })).rejects.toThrow(
    'bad origin description: listen puts all hosts on one address, but a has its own',
  );
});

test('each host listens on a loopback address of its own and on the same port', async () => {
  const { hosts, port } = await start({ hosts: [{ name: 'a', count: 3 }, { name: 'b' }] });
  expect([...hosts]).toEqual([
    ['a-1', `http://127.77.0.1:${port}`],
    ['a-2', `http://127.77.0.2:${port}`],
    ['a-3', `http://127.77.0.3:${port}`],
    ['b', `http://127.77.0.4:${port}`],
  ]);
  await Promise.all([...hosts.values()].map((url) => get(url)));
  expect(origin?.stats().hosts.map((host) => host.served)).toEqual([1, 1, 1, 1]);
});

test('hosts that share an address are told apart by the Host header', async () => {
  const { port } = await start({
    hosts: [
      { name: 'shop.test', address: '127.0.0.1', page: { body: 'shop' } },
      { name: 'blog.test', address: '127.0.0.1', page: { body: 'blog' } },
    ],
  });
  const named = async (host: string): Promise<string> =>
    (await get(`http://127.0.0.1:${port}/`, { headers: { host } })).body.toString();
  expect(await named(`Blog.Test:${port}`)).toBe('blog');
  expect(await named('shop.test')).toBe('shop');
  expect(await named('127.0.0.1')).toBe('shop');
  expect((await get(`http://127.0.0.1:${port}/`, { headers: { host: 'other.test' } })).status).toBe(421);
});

test('a refusal is published, counted and logged, and an early request is caught by its receipt', async () => {
  const { urlOf, log } = await oneHost({
    limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 },
  });
  const url = urlOf('h');
  expect((await get(url)).status).toBe(200);
  const refused = await get(url);
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, ['10']]);
  await get(url);
  const seen = log();
  expect(seen.map(({ status, answer, publishedWaitMs }) => ({ status, answer, publishedWaitMs }))).toEqual([
    { status: 200, answer: 'page', publishedWaitMs: null },
    { status: 429, answer: 'refused', publishedWaitMs: 10_000 },
    { status: 429, answer: 'refused', publishedWaitMs: 10_000 },
  ]);
  expect(seen.map(({ receivedInCooldownMs }) => receivedInCooldownMs !== null)).toEqual([false, false, true]);
  expect(statsOf()).toMatchObject({ requests: 3, served: 1, refused: 2, throttled429: 2, inFlightMax: 1 });
  expect(statsOf().inCooldown.received).toBe(1);
});

test('with the admission known, a request that was on its way is no fault and a later one is', async () => {
  const { urlOf, log } = await start({
    noticeMs: 0,
    hosts: [{ name: 'h', limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 } }],
  });
  const admitted = (atMs: number, attempt: number) =>
    get(`${urlOf('h')}/p`, {
      headers: {
        'x-holdoff-job': 'job-1',
        'x-holdoff-attempt': String(attempt),
        'x-holdoff-admitted-at': String(atMs),
      },
    });
  const beforeMs = Date.now() - 1_000;
  await admitted(beforeMs, 1);
  await admitted(beforeMs, 2);
  await admitted(beforeMs, 3);
  await admitted(Date.now() + 1_000, 4);
  const afterEndMs = Date.now() + 11_500;
  await get(`${urlOf('h')}/p?job=job-1&attempt=5&admittedAt=${afterEndMs}`);
  expect(log().map(({ job, attempt }) => `${job} ${attempt}`)).toEqual(
    [1, 2, 3, 4, 5].map((attempt) => `job-1 ${attempt}`),
  );
  expect(log().map((seen) => seen.admittedInCooldownMs !== null)).toEqual([false, false, false, true, false]);
  expect(statsOf()).toMatchObject({
    admissionsKnown: 5,
    inCooldown: { received: 3, admitted: 1, afterNotice: 1 },
  });
});

test('marks that are not what they should be are left out', async () => {
  const { urlOf, log } = await oneHost();
  await get(`${urlOf('h')}/?job=${'j'.repeat(500)}&attempt=-1&admittedAt=1e3`);
  expect(log()[0]).toMatchObject({ job: 'j'.repeat(128), attempt: null, admittedAtMs: null });
});

test('an HTTP-date, the Date header and the log agree on a host with a wrong clock', async () => {
  const { urlOf, log } = await oneHost({
    clockOffsetMs: 3_600_000,
    limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 },
    refusal: { retryAfter: 'http_date' },
  });
  await get(urlOf('h'));
  const { headers } = await get(urlOf('h'));
  const apart = Date.parse(headers['retry-after']?.[0] ?? '') - Date.parse(headers['date']?.[0] ?? '');
  expect(headers['date']).toHaveLength(1);
  expect(apart).toBeGreaterThanOrEqual(10_000);
  expect(apart).toBeLessThanOrEqual(11_000);
  expect(Date.parse(headers['date']?.[0] ?? '') - Date.now()).toBeGreaterThan(3_590_000);
  expect(log()[1]?.publishedWaitMs).toBeLessThanOrEqual(11_000);
});

test('two Retry-After lines arrive as two lines', async () => {
  const { urlOf } = await oneHost({
    limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 },
    refusal: { retryAfter: 'duplicate', status: 503 },
  });
  await get(urlOf('h'));
  const refused = await get(urlOf('h'));
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, ['1', '10']]);
});

test('a concurrency limit counts the requests that it let in, not the ones it refused', async () => {
  const { urlOf } = await oneHost({
    limiter: { kind: 'concurrency', limit: 2 },
    latency: { kind: 'fixed', ms: 100 },
  });
  const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await get(urlOf('h'))).status));
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 429, 429, 429]);
  expect((await get(urlOf('h'))).status).toBe(200);
  expect(statsOf()).toMatchObject({ inFlightMax: 5, inFlight: 0 });
});

test('latency that grows with the load holds the later requests longer', async () => {
  const { urlOf, log } = await oneHost({ latency: { kind: 'load', baseMs: 20, perInFlightMs: 40 } });
  await Promise.all([1, 2, 3].map(() => get(urlOf('h'))));
  const held = log().map((seen) => (seen.answeredAtMs ?? 0) - seen.receivedAtMs);
  expect(held[0]).toBeGreaterThanOrEqual(19);
  expect(held[2]).toBeGreaterThanOrEqual(99);
});

test('served answers advertise what is left', async () => {
  const { urlOf } = await oneHost({
    limiter: { kind: 'fixed_window', limit: 3, windowMs: 3_600_000 },
    advertise: 'ratelimit',
  });
  const { headers } = await get(urlOf('h'));
  expect(headers['ratelimit']?.[0]).toMatch(/^"default";r=2;t=3600$/);
});

test('an ETag is answered with 304 when the client knows it', async () => {
  const { urlOf } = await oneHost({ page: { etag: true, cookies: ['a=1', 'b=2'] } });
  const first = await get(urlOf('h'));
  const etag = first.headers['etag']?.[0] ?? '';
  expect(first.headers['set-cookie']).toEqual(['a=1', 'b=2']);
  const second = await get(urlOf('h'), { headers: { 'if-none-match': `"other", W/${etag}` } });
  expect([second.status, second.body.length]).toEqual([304, 0]);
  expect((await get(urlOf('h'), { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
});

test('distinct pages have one length and no two the same content', async () => {
  const { urlOf } = await oneHost({ page: { bytes: 100, distinct: true } });
  const [one, two] = await Promise.all([get(`${urlOf('h')}/1`), get(`${urlOf('h')}/2?q`)]);
  expect([one.body.length, two.body.length]).toEqual([100, 100]);
  expect([one, two].map(({ body }) => body.toString().split('\n')[0])).toEqual(['/1', '/2?q']);
});

test('robots.txt is what the description says, or missing', async () => {
  const { urlOf } = await start({
    hosts: [{ name: 'open' }, { name: 'shy', robots: 'User-agent: *\nDisallow: /private\n' }],
  });
  expect((await get(`${urlOf('open')}/robots.txt`)).status).toBe(404);
  const shy = await get(`${urlOf('shy')}/robots.txt`);
  expect([shy.headers['content-type'], shy.body.toString()]).toEqual([
    ['text/plain; charset=utf-8'],
    'User-agent: *\nDisallow: /private\n',
  ]);
});

test('HEAD gets the head of the page and no body', async () => {
  const { urlOf } = await oneHost({ page: { bytes: 1_000 } });
  const { headers, body } = await get(urlOf('h'), { method: 'HEAD' });
  expect([headers['content-length'], body.length]).toEqual([['1000'], 0]);
});

test('a rule applies by path, share and time, and before the limiter when it says so', async () => {
  const { urlOf } = await oneHost({
    limiter: { kind: 'token_bucket', perSecond: 0.001, burst: 100 },
    rules: [
      { path: '/broken', answer: { kind: 'status', status: 502 } },
      { path: '/early/*', beforeLimiter: true, answer: { kind: 'status', status: 500 } },
      { path: '/later', fromMs: 3_600_000, answer: { kind: 'status', status: 500 } },
      { path: '/half', share: 0.5, answer: { kind: 'status', status: 503, retryAfterSeconds: 0 } },
    ],
  });
  const status = async (path: string): Promise<number> => (await get(urlOf('h') + path)).status;
  expect(await status('/broken')).toBe(502);
  expect(await status('/broken/not')).toBe(200);
  expect(await status('/early/x')).toBe(500);
  expect(await status('/later')).toBe(200);
  const halves = await Promise.all(Array.from({ length: 60 }, () => status('/half')));
  const broken = halves.filter((code) => code === 503).length;
  expect(broken).toBeGreaterThan(15);
  expect(broken).toBeLessThan(45);
  await Promise.all(Array.from({ length: 50 }, () => status('/')));
  expect([await status('/'), await status('/early/x')]).toEqual([429, 500]);
});

test('a status rule with a Retry-After publishes a cooldown', async () => {
  const { urlOf } = await answering({ kind: 'status', status: 503, retryAfterSeconds: 5 });
  await get(urlOf('h'));
  await get(urlOf('h'));
  expect(statsOf().inCooldown.received).toBe(1);
});

test('redirects count their hops, cross to another host and keep the query', async () => {
  const { urlOf, port } = await start({
    hosts: [
      { name: 'door', rules: [{ answer: { kind: 'redirect', hops: 2, toHost: 'room', status: 307 } }] },
      { name: 'room' },
    ],
  });
  const first = await get(`${urlOf('door')}/a/b?job=1`);
  expect([first.status, first.headers['location']]).toEqual([307, ['/a/b?job=1&hop=1']]);
  const second = await get(`${urlOf('door')}/a/b?job=1&hop=1`);
  expect(second.headers['location']).toEqual([`http://127.77.0.2:${port}/landed/a/b?job=1`]);
});

/** Paths that a chain of redirects leads through, at most so many. */
async function follow(url: string, most: number): Promise<string[]> {
  const seen: string[] = [];
  for (let at = url; seen.length < most;) {
    const { headers } = await get(at);
    const location = headers['location']?.[0];
    if (location === undefined) break;
    at = new URL(location, at).href;
    seen.push(new URL(at).pathname + new URL(at).search);
  }
  return seen;
}

test('a redirect within a host arrives, a loop never does', async () => {
  const { urlOf } = await start({
    hosts: [
      { name: 'chain', rules: [{ answer: { kind: 'redirect' } }] },
      { name: 'loop', rules: [{ answer: { kind: 'redirect', hops: 2, loop: true } }] },
    ],
  });
  expect(await follow(`${urlOf('chain')}/x`, 9)).toEqual(['/landed/x']);
  expect(await follow(`${urlOf('loop')}/x`, 4)).toEqual(['/x?hop=1', '/x?hop=0', '/x?hop=1', '/x?hop=0']);
});

test('a challenge page is a 403 with its sign', async () => {
  const { urlOf } = await answering({ kind: 'challenge' });
  const { status, headers } = await get(urlOf('h'));
  expect([status, headers['cf-mitigated']]).toEqual([403, ['challenge']]);
});

test.each<[string, RuleInput['answer']]>([
  ['reset', { kind: 'reset' }],
  ['a body that stops short of its length', { kind: 'truncated_body' }],
  ['chunks that stop without a last one', { kind: 'truncated_body', framing: 'chunked' }],
  ['an endless body that reaches its bound', { kind: 'endless_body', bytesMost: 300_000 }],
])('%s breaks the exchange and is logged as aborted', async (_name, answer) => {
  const { urlOf, log } = await answering(answer);
  await expect(get(urlOf('h'))).rejects.toThrow(/aborted|ECONNRESET|hang up/);
  await vi.waitFor(() => expect(log()[0]?.end).toBe('aborted'));
  expect(statsOf()).toMatchObject({ aborted: 1, inFlight: 0 });
});

test.each<[string, RuleInput['answer']]>([
  ['no answer', { kind: 'never' }],
  ['a head that drips', { kind: 'slow_headers', everyMs: 10, lines: 1_000 }],
  ['a body that drips', { kind: 'slow_body', everyMs: 10, totalBytes: 10_000 }],
  ['interim answers without end', { kind: 'informational', everyMs: 10, count: 1_000 }],
])('%s lasts until the client gives up, and leaves nothing behind', async (_name, answer) => {
  const { urlOf, log } = await answering(answer);
  await expect(get(urlOf('h'), { signal: AbortSignal.timeout(150) })).rejects.toThrow(/aborted|timeout/);
  await vi.waitFor(() => expect(log()[0]?.end).toBe('aborted'));
  expect(statsOf()).toMatchObject({ requests: 1, inFlight: 0, connections: 0 });
});

test.each<[string, RuleInput['answer'], number]>([
  ['a head that drips', { kind: 'slow_headers', everyMs: 5, lines: 3 }, 3],
  ['a body that drips', { kind: 'slow_body', everyMs: 5, chunkBytes: 4, totalBytes: 10 }, 10],
  ['interim answers', { kind: 'informational', count: 250 }, 3],
  ['a huge body', { kind: 'huge_body', bytes: 3_000_000 }, 3_000_000],
  ['a huge head', { kind: 'huge_headers', bytes: 100_000 }, 3],
])('%s ends after all with its body whole', async (_name, answer, bytes) => {
  const { urlOf } = await answering(answer);
  const { status, body } = await get(urlOf('h'));
  expect([status, body.length]).toEqual([200, bytes]);
});

test('a bomb is small on the wire and large when unpacked', async () => {
  const { urlOf } = await answering({ kind: 'bomb', encoding: 'gzip', decodedBytes: 20_000_000 });
  const { headers, body } = await get(urlOf('h'));
  expect(headers['content-encoding']).toEqual(['gzip']);
  expect(body.length).toBeLessThan(100_000);
  expect(gunzipSync(body).length).toBe(20_000_000);
});

test.each(['br', 'zstd', 'deflate'] as const)(
  'a %s bomb is packed at least a hundredfold',
  async (encoding) => {
    const { urlOf } = await answering({ kind: 'bomb', encoding, decodedBytes: 5_000_000 });
    const { headers, body } = await get(urlOf('h'));
    expect(headers['content-encoding']).toEqual([encoding]);
    expect(body.length).toBeLessThan(50_000);
  },
);

test('an idle connection is closed without a word when the host does not announce it', async () => {
  const { urlOf } = await oneHost({ keepAlive: { idleMs: 50, announced: false } });
  const agent = new Agent({ keepAlive: true });
  const { headers } = await get(urlOf('h'), { agent });
  expect([headers['keep-alive'], headers['connection']]).toEqual([undefined, ['keep-alive']]);
  expect(statsOf().connections).toBe(1);
  await vi.waitFor(() => expect(statsOf().connections).toBe(0), { timeout: 2_000 });
  agent.destroy();
});

test('rules can be put in front of the host’s own while it runs, and a reset takes them away', async () => {
  const { urlOf, adminUrl, setRules, reset } = await oneHost();
  setRules('h', [{ answer: { kind: 'status', status: 500 } }]);
  expect((await get(urlOf('h'))).status).toBe(500);
  reset();
  expect(statsOf().requests).toBe(0);
  expect((await get(urlOf('h'))).status).toBe(200);
  const put = (query: string, body: string) => fetch(`${adminUrl}/rules${query}`, { method: 'PUT', body });
  const rules = JSON.stringify([{ answer: { kind: 'status', status: 502 } }]);
  expect((await put('?host=h', rules)).status).toBe(200);
  expect((await get(urlOf('h'))).status).toBe(502);
  for (const [query, body, fault] of [
    ['?host=nobody', rules, /no host named nobody/],
    ['?host=h', '{', /JSON/],
    ['?host=h', '[{"answer":{"kind":"status","status":99}}]', /0\.answer\.status/],
    ['?host=h', '[{"answer":{"kind":"redirect","toHost":"nobody"}}]', /unknown host nobody/],
  ] as const) {
    const refused = await put(query, body);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toMatch(fault);
  }
});

test('the admin port serves stats, hosts and the log', async () => {
  const { urlOf, adminUrl } = await oneHost();
  await get(`${urlOf('h')}/one`);
  await get(`${urlOf('h')}/two`);
  const stats = (await (await fetch(`${adminUrl}/stats`)).json()) as OriginStats;
  expect(stats.hosts[0]).toMatchObject({ host: 'h', requests: 2, statuses: { 200: 2 } });
  expect(await (await fetch(`${adminUrl}/hosts`)).json()).toEqual({ h: urlOf('h') });
  const lines = (await (await fetch(`${adminUrl}/log`)).text()).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual(['/one', '/two']);
  expect((await fetch(`${adminUrl}/reset`)).status).toBe(404);
  expect((await fetch(`${adminUrl}/reset`, { method: 'POST' })).status).toBe(200);
  expect(await (await fetch(`${adminUrl}/log`)).text()).toBe('');
});

test('the log keeps the newest requests and says how many it dropped', async () => {
  const { urlOf, log, stats } = await start({ log: { entriesMax: 3 }, hosts: [{ name: 'h' }] });
  for (let n = 0; n < 5; n += 1) await get(`${urlOf('h')}/${n}`);
  expect(log().map(({ path }) => path)).toEqual(['/2', '/3', '/4']);
  expect(stats().logEntriesDropped).toBe(2);
});

test('the log file has one line per ended exchange', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sample-origin-'));
  const file = join(folder, 'log.ndjson');
  const { urlOf } = await start({ log: { file }, hosts: [{ name: 'h' }] });
  await get(`${urlOf('h')}/a`);
  await get(`${urlOf('h')}/b`);
  await origin?.stop();
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { path: string; end: string }).path)).toEqual(['/a', '/b']);
  await rm(folder, { recursive: true });
});

test('goodput is measured against what the limiter would give', async () => {
  const { urlOf } = await oneHost({ limiter: { kind: 'token_bucket', perSecond: 20, burst: 1 } });
  for (let n = 0; n < 10; n += 1) {
    await get(urlOf('h'));
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const { goodputShare, limitPerSecond, served } = statsOf();
  expect(limitPerSecond).toBeCloseTo(20, 6);
  expect(goodputShare).toBeGreaterThan(0.3);
  expect(goodputShare).toBeLessThan(1.35);
  expect(served).toBeLessThan(10);
});

test('a port in use is one clear error and leaves nothing listening', async () => {
  const other = createServer().listen(0, '127.77.0.2');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const description = { port, hosts: [{ name: 'h', count: 3 }] };
  await expect(startSampleOrigin(description)).rejects.toThrow(/EADDRINUSE/);
  other.close();
  await once(other, 'close');
  await start(description);
});

test.each(Object.keys(SCENARIOS))('the scenario %s starts', async (name) => {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error('gone');
  const { hosts } = await start(scenario.origin);
  expect(hosts.size).toBeGreaterThan(0);
});

test.each<[unknown, RegExp]>([
  [{}, /hosts/],
  [{ hosts: [] }, /hosts/],
  [{ hosts: [{ name: 'h', address: '10.0.0.1' }] }, /only loopback/],
  [{ hosts: [{ name: 'h' }, { name: 'h' }] }, /two hosts are named h/],
  [{ hosts: [{ name: 'h', count: 2, address: '127.0.0.1' }] }, /a count and one address/],
  [{ hosts: [{ name: 'h', limiter: { kind: 'token_bucket', perSecond: 0 } }] }, /limiter\.perSecond/],
  [{ hosts: [{ name: 'h', limiter: { kind: 'wish' } }] }, /limiter/],
  [{ hosts: [{ name: 'h', latencey: {} }] }, /latencey/],
  [{ hosts: [{ name: 'h', page: { headers: { 'x-a': 'b\r\nc: d' } } }] }, /x-a/],
  [{ hosts: [{ name: 'h', rules: [{ answer: { kind: 'redirect', toHost: 'x' } }] }] }, /unknown host x/],
])('the description %j is refused with its fault', async (description, fault) => {
  await expect(startSampleOrigin(description as OriginDescriptionInput)).rejects.toThrow(fault);
});
