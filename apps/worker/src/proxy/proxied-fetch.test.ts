import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { generate } from 'selfsigned';
import { afterEach, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import type { PageExchange } from '../fetch-page.ts';
import { pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer, type Say } from '../testing/raw-server.ts';
import { httpProxy, socksProxy, type StubProxy } from '../testing/stub-proxy.ts';
import { openProxy, type ProxySettings } from './proxy-settings.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

const SECRET = 'cu$tomer-{session}:p@ss:w/ord';

async function fetcherThrough(
  proxy: Pick<StubProxy, 'url'>,
  settings: Partial<ProxySettings> = {},
  addresses: readonly string[] = ['127.0.0.1'],
): Promise<PageFetcher> {
  const opened = await openProxy(
    { name: 'p1', url: proxy.url, credentials: null, resolve: 'here', ...settings },
    { PROXY_LOGIN: SECRET },
  );
  const fetcher = createFetchPage({
    addresses: { extraPorts: [], allowedNetworks: ['127.0.0.1/32'] },
    userAgent: 'Holdoff/test',
    resolve: async () => addresses,
    proxies: [opened],
  });
  open.push(fetcher);
  return fetcher;
}

async function origin(say?: Say, how?: tls.TlsOptions): Promise<RawServer> {
  const server = await rawServer(say ?? ((socket) => socket.write(answer('200 OK', [], 'page'))), how);
  open.push(server);
  return server;
}

const through = (
  fetcher: PageFetcher,
  url: string,
  session: string | null = null,
  budgetMs = 3_000,
): Promise<PageExchange> => fetcher.fetchPage(pageRequest(url, { exit: { proxy: 'p1', session }, budgetMs }));

describe.each([
  ['an HTTP proxy', () => httpProxy()],
  ['a SOCKS5 proxy', () => socksProxy(null)],
] as const)('through %s', (_, make) => {
  test('a page is fetched over a tunnel to the address that was checked, and the tunnel is used again', async () => {
    const proxy = await make();
    open.push(proxy);
    const server = await origin();
    const fetcher = await fetcherThrough(proxy);
    for (let turn = 0; turn < 2; turn += 1) {
      const page = await through(fetcher, `http://shop.test:${server.port}/a`);
      expect(page).toMatchObject({
        status: 200,
        outcome: { class: 'served', source: 'destination' },
        sent: true,
      });
    }
    expect(proxy.asked).toEqual([`127.0.0.1:${server.port}`]);
    expect(server.heads[0]).toMatch(/^host: shop\.test:/imu);
    expect(server.heads[0]?.toLowerCase()).not.toContain('proxy');
  });

  test('https keeps the certificate of the destination in force', async () => {
    const proxy = await make();
    open.push(proxy);
    const made = await generate([{ name: 'commonName', value: 'shop.test' }], {
      keyType: 'ec',
      algorithm: 'sha256',
    });
    const server = await origin(undefined, { key: made.private, cert: made.cert });
    const fetcher = await fetcherThrough(proxy);
    const url = `https://shop.test:${server.port}/`;
    expect(await through(fetcher, url)).toMatchObject({ outcome: { stop: 'tls' }, sent: false });
    const before = tls.getCACertificates();
    tls.setDefaultCACertificates([...before, made.cert]);
    const page = await through(fetcher, url);
    tls.setDefaultCACertificates(before);
    expect(page).toMatchObject({ status: 200, outcome: { class: 'served' } });
  });

  test('an inner address is refused before the proxy hears of it', async () => {
    const proxy = await make();
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy, {}, ['127.0.0.1', '10.0.0.1']);
    for (const url of ['http://shop.test/', 'https://shop.test/', 'http://10.0.0.1/', 'http://[::1]/']) {
      expect(await through(fetcher, url)).toMatchObject({
        outcome: { stop: 'address_not_allowed', source: 'client' },
        sent: false,
      });
    }
    expect(proxy.asked).toEqual([]);
  });

  test('a proxy that resolves gets the name; literals and ports are still ours to judge', async () => {
    const proxy = await make();
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy, { resolve: 'proxy' }, ['10.0.0.1']);
    await through(fetcher, 'http://shop.test/');
    expect(proxy.asked).toEqual(['shop.test:80']);
    for (const url of ['http://shop.test:6379/', 'http://10.0.0.1/']) {
      expect(await through(fetcher, url)).toMatchObject({ outcome: { stop: 'address_not_allowed' } });
    }
    expect(proxy.asked).toHaveLength(1);
  });

  test("what happens inside the tunnel is the destination's doing", async () => {
    const proxy = await make();
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy);
    const bad = await origin((socket) => socket.write(answer('502 Bad Gateway', [])));
    expect(await through(fetcher, `http://shop.test:${bad.port}/`)).toMatchObject({
      status: 502,
      outcome: { class: 'unavailable', source: 'destination', stop: null },
      proxyAnswer: null,
    });
    const resets = await origin((socket) => socket.resetAndDestroy());
    expect(await through(fetcher, `http://shop.test:${resets.port}/`)).toMatchObject({
      outcome: { class: 'transport', source: 'destination' },
    });
  });
});

describe('a proxy that forwards plain http', () => {
  const forwarding = {
    plainHttp: 'forward',
    resolve: 'proxy',
    credentials: { variable: 'PROXY_LOGIN' },
  } as const;

  async function fetcherFor(onConnect: Parameters<typeof httpProxy>[0]) {
    const proxy = await httpProxy(onConnect);
    open.push(proxy);
    const opened = await openProxy({ name: 'p1', url: proxy.url, ...forwarding }, { PROXY_LOGIN: SECRET });
    const fetcher = createFetchPage({
      addresses: { extraPorts: [], allowedNetworks: ['127.0.0.1/32'], extraPortsOf: () => [server.port] },
      userAgent: 'Holdoff/test',
      proxies: [opened],
    });
    open.push(fetcher);
    return { proxy, fetcher };
  }
  let server: RawServer;

  test('is asked for the URL itself, where it opens no tunnels, and its sockets are used again', async () => {
    server = await origin();
    const { proxy, fetcher } = await fetcherFor('no_tunnels');
    const url = `http://shop.test:${server.port}/a?b=1`;
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await through(fetcher, url)).toMatchObject({
        status: 200,
        outcome: { class: 'served', source: 'destination' },
        proxyFailure: null,
      });
    }
    expect(proxy.asked).toEqual([url, url, url]);
    expect(proxy.open()).toBe(1);
    expect(proxy.credentials[0]).toBe('cu$tomer-e3b0c44298fc:p@ss:w/ord');
    expect(server.heads.join('\n').toLowerCase()).not.toContain('proxy');
    expect(server.heads[0]).toMatch(/^host: shop\.test:/imu);
    // https has no other way than a tunnel.
    expect(await through(fetcher, `https://shop.test:${server.port}/`)).toMatchObject({
      outcome: { source: 'proxy' },
      sent: false,
    });
  });

  test.each([
    ['407 Proxy Authentication Required', 'credentials'],
    ['502 Bad Gateway', 'destination'],
    ['504 Gateway Timeout', 'destination'],
  ])('that answers %s itself is blamed itself', async (status, proxyFailure) => {
    server = await origin();
    const { fetcher } = await fetcherFor((socket) => socket.end(answer(status, [], 'no')));
    const page = await through(fetcher, `http://shop.test:${server.port}/`);
    expect(page).toMatchObject({ outcome: { class: 'neutral', source: 'proxy' }, proxyFailure });
  });

  test('carries the limits of the destination, whose they are', async () => {
    server = await origin((socket) => socket.write(answer('429 Too Many Requests', ['Retry-After: 60'])));
    const { fetcher } = await fetcherFor('no_tunnels');
    const page = await through(fetcher, `http://shop.test:${server.port}/`);
    expect(page).toMatchObject({
      outcome: { class: 'throttled', source: 'destination' },
      proxyFailure: null,
    });
    expect(page.headers['retry-after']).toEqual(['60']);
  });

  test('that is not there is no answer of the destination', async () => {
    server = await origin();
    const { proxy, fetcher } = await fetcherFor('no_tunnels');
    await proxy.close();
    expect(await through(fetcher, `http://shop.test:${server.port}/`)).toMatchObject({
      outcome: { source: 'proxy', stop: null },
      sent: false,
      proxyFailure: 'proxy',
    });
  });

  test('is sent no address or port that the guard refuses', async () => {
    server = await origin();
    const { proxy, fetcher } = await fetcherFor('no_tunnels');
    for (const url of ['http://10.0.0.1/', 'http://shop.test:6379/', 'http://[::1]/'])
      expect(await through(fetcher, url)).toMatchObject({ outcome: { stop: 'address_not_allowed' } });
    expect(proxy.asked).toEqual([]);
  });

  test.each([
    { url: 'socks5://127.0.0.1:1', plainHttp: 'forward', resolve: 'proxy' },
    { url: 'http://127.0.0.1:1', plainHttp: 'forward', resolve: 'here' },
  ] as const)('must be an HTTP proxy that resolves names: $url, $resolve', async (settings) => {
    await expect(openProxy({ name: 'p1', credentials: null, ...settings }, {})).rejects.toThrow(
      'plainHttp forward needs',
    );
  });
});

const says =
  (status: string, ...lines: string[]) =>
  (socket: Socket): void => {
    socket.end(answer(status, lines, 'not today'));
  };

describe('a proxy that fails', () => {
  test.each<[string, (socket: Socket) => void, object]>([
    ['wants other credentials', says('407 Proxy Authentication Required'), { stop: null }],
    ['forbids the destination', says('403 Forbidden'), { stop: 'proxy' }],
    ['cannot reach the destination', says('502 Bad Gateway'), { stop: null }],
    ['is out of service', says('503 Service Unavailable'), { stop: null }],
    ['limits us', says('429 Too Many Requests', 'Retry-After: 60'), { stop: null }],
    ['redirects us', says('302 Found', 'Location: http://evil.test/'), { stop: null }],
    ['hangs up', (socket) => socket.end(), { stop: null }],
    ['resets', (socket) => socket.resetAndDestroy(), { stop: null }],
    ['talks nonsense', (socket) => socket.end('SSH-2.0\r\n\r\n'), { stop: null }],
    [
      'speaks before it is asked',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n'),
      { stop: null },
    ],
    [
      'never ends its header',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`),
      { stop: null },
    ],
    ['says nothing', () => undefined, { stop: null }],
  ])('one that %s is blamed itself, never the host', async (_, onConnect, outcome) => {
    const proxy = await httpProxy(onConnect);
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy, {
      credentials: { variable: 'PROXY_LOGIN' },
      connectMs: 1_000,
    });
    const page = await through(fetcher, 'http://shop.test/?token=K1', null, 400);
    expect(page).toMatchObject({
      outcome: { class: 'neutral', source: 'proxy', ...outcome },
      status: 0,
      sent: false,
    });
    expect(JSON.stringify(page)).not.toMatch(/p@ss|cu\$tomer|Basic|K1|not today/u);
    await expect.poll(proxy.open, { timeout: 5_000 }).toBe(0);
  });

  test("its own limit is told apart, for the proxy's cooldown", async () => {
    const proxy = await httpProxy(says('429 Too Many Requests', 'Retry-After: 60'));
    open.push(proxy);
    const page = await through(await fetcherThrough(proxy), 'http://shop.test/');
    expect(page.proxyAnswer).toMatchObject({ status: 429, headers: { 'retry-after': ['60'] } });
    expect(page.headers).toEqual({});
    expect(page.outcome.detail).toBe('proxy p1: the proxy answered 429 Too Many Requests');
  });

  test('one that is waited for does not keep the process from ending', async () => {
    const proxy = await httpProxy(() => undefined);
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy);
    const waiting = through(fetcher, 'http://shop.test/');
    await expect.poll(() => proxy.asked.length, { timeout: 5_000 }).toBe(1);
    fetcher.close();
    expect((await waiting).outcome).toMatchObject({ source: 'proxy' });
    await expect.poll(proxy.open, { timeout: 5_000 }).toBe(0);
  });

  test('one that is not there', async () => {
    const proxy = await httpProxy();
    await proxy.close();
    const page = await through(await fetcherThrough(proxy), 'http://shop.test/');
    expect(page).toMatchObject({ outcome: { class: 'neutral', source: 'proxy', stop: null }, sent: false });
    expect(page.outcome.detail).toContain('ECONNREFUSED');
  });

  test.each([
    { login: 'other:login', reply: 0, stop: null, proxyFailure: 'credentials' },
    { login: null, reply: 2, stop: null, proxyFailure: 'destination' },
    { login: null, reply: 5, stop: null, proxyFailure: 'destination' },
  ])('a SOCKS proxy with login $login that replies $reply', async ({ login, reply, stop, proxyFailure }) => {
    const proxy = await socksProxy(login, reply);
    open.push(proxy);
    const fetcher = await fetcherThrough(proxy, { credentials: { variable: 'PROXY_LOGIN' } });
    const page = await through(fetcher, 'http://shop.test/');
    expect(page).toMatchObject({
      outcome: { class: 'neutral', source: 'proxy', stop },
      sent: false,
      proxyFailure,
    });
    expect(JSON.stringify(page)).not.toMatch(/p@ss|cu\$tomer/u);
  });

  test('no such proxy is an error of the set-up: nothing goes out by another door', async () => {
    const fetcher = await fetcherThrough({ url: 'http://127.0.0.1:9' });
    await expect(
      fetcher.fetchPage(pageRequest('http://shop.test/', { exit: { proxy: 'p2', session: null } })),
    ).rejects.toThrow('no proxy is named "p2"');
  });
});

describe('credentials and sessions', () => {
  test.each([
    ['an HTTP proxy', () => httpProxy()],
    ['a SOCKS5 proxy', () => socksProxy('cu$tomer-e3b0c44298fc:p@ss:w/ord')],
  ])('%s is given what the file holds, and never the origin', async (_, make) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdoff-proxy-'));
    open.push({ close: () => rm(folder, { recursive: true }) });
    await writeFile(join(folder, 'login'), `${SECRET}\n`);
    const proxy = await make();
    open.push(proxy);
    const server = await origin();
    const fetcher = await fetcherThrough(proxy, { credentials: { file: join(folder, 'login') } });
    expect(await through(fetcher, `http://shop.test:${server.port}/`)).toMatchObject({ status: 200 });
    expect(proxy.credentials).toEqual(['cu$tomer-e3b0c44298fc:p@ss:w/ord']);
    expect(server.heads.join('\n')).not.toMatch(/p@ss|authorization/iu);
  });

  test('each session has a user name and sockets of its own', async () => {
    const proxy = await httpProxy();
    open.push(proxy);
    const server = await origin();
    const fetcher = await fetcherThrough(proxy, { credentials: { variable: 'PROXY_LOGIN' } });
    const url = `http://shop.test:${server.port}/`;
    for (const session of ['a', 'b', 'a', 'b']) await through(fetcher, url, session);
    expect(server.accepted()).toBe(2);
    expect(new Set(proxy.credentials).size).toBe(2);
    expect(proxy.credentials.join(' ')).not.toContain('{session}');
  });

  test('sessions that are no longer used give their sockets back', async () => {
    const proxy = await httpProxy();
    open.push(proxy);
    const server = await origin();
    const fetcher = await fetcherThrough(proxy, { credentials: { variable: 'PROXY_LOGIN' } });
    for (let i = 0; i < 100; i += 1) await through(fetcher, `http://shop.test:${server.port}/`, `job-${i}`);
    await expect.poll(() => server.open(), { timeout: 5_000 }).toBeLessThanOrEqual(64);
  });

  test.each<[string, Partial<ProxySettings>]>([
    ['credentials in the url', { url: 'http://user:s3cret@proxy.test:8080' }],
    ['credentials in a url nobody can read', { url: 'http://user:s3/cret@proxy.test:99999' }],
    ['another scheme', { url: 'ftp://proxy.test' }],
    ['no port 0', { url: 'http://proxy.test:0' }],
    ['a name with spaces', { name: 'my proxy' }],
    ['a file that is not there', { credentials: { file: '/nowhere/login' } }],
    ['a variable without a colon', { credentials: { variable: 'BROKEN' } }],
    ['a variable that is not set', { credentials: { variable: 'ABSENT' } }],
  ])('%s is refused at the start, without telling the secret', async (_, settings) => {
    const opening = openProxy(
      { name: 'p1', url: 'http://proxy.test:8080', credentials: null, resolve: 'here', ...settings },
      { BROKEN: 's3cret-without-colon' },
    );
    const error = await opening.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).not.toMatch(/s3/u);
  });
});
