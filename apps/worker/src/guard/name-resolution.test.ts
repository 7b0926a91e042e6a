import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import { pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer } from '../testing/raw-server.ts';
import { type DnsAnswer, type StubDns, stubDns } from '../testing/stub-dns.ts';
import { createResolver, DEFAULT_RESOLVER } from './resolver.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

interface Stage {
  readonly fetcher: PageFetcher;
  readonly origin: RawServer;
  readonly dns: StubDns;
}

/** A name server that says what the test says, an origin on 127.0.0.1, and a fetcher that may go to `networks`. */
async function stage(
  say: (name: string, family: 4 | 6, turn: number) => DnsAnswer,
  networks: readonly string[] = ['127.0.0.1/32'],
  tryMs = 400,
): Promise<Stage> {
  let turn = 0;
  const dns = await stubDns((name, family) => say(name, family, turn++));
  const origin = await rawServer((socket) => socket.end(answer('200 OK', ['Connection: close'], 'inside')));
  const fetcher = createFetchPage({
    addresses: { extraPorts: [origin.port], allowedNetworks: networks },
    userAgent: 'Holdoff/test',
    resolve: createResolver({
      ...DEFAULT_RESOLVER,
      servers: [dns.server],
      tryMs,
      tries: 1,
      hostsFile: null,
    }),
  });
  open.push(fetcher, origin, dns);
  return { fetcher, origin, dns };
}

test('a name is resolved and its page fetched', async () => {
  const { fetcher, origin } = await stage(() => ['127.0.0.1']);
  const page = await fetcher.fetchPage(pageRequest(`http://shop.test:${origin.port}/`));
  expect(page.outcome.class).toBe('served');
  expect(origin.heads[0]).toMatch(new RegExp(`^host: shop\\.test:${origin.port}$`, 'imu'));
});

test.each<[string, DnsAnswer]>([
  ['an inner address', ['10.0.0.5']],
  ['the metadata service', ['169.254.169.254']],
  ['one good address and one inner', ['127.0.0.1', '10.0.0.5']],
  ['a good A and ::1 as AAAA', ['127.0.0.1', '::1']],
  ['a good A and a mapped inner AAAA', ['127.0.0.1', '::ffff:10.0.0.1']],
  ['a good A and 6to4 of an inner one', ['127.0.0.1', '2002:a00:1::']],
  ['the unspecified address', ['0.0.0.0']],
  ['broadcast', ['255.255.255.255']],
])('a name with %s is refused, and nothing is connected to', async (_, addresses) => {
  const { fetcher, origin } = await stage(() => addresses);
  const page = await fetcher.fetchPage(pageRequest(`http://shop.test:${origin.port}/`));
  expect(page).toMatchObject({
    outcome: { class: 'neutral', source: 'client', stop: 'address_not_allowed' },
    sent: false,
    status: 0,
  });
  expect(origin.accepted()).toBe(0);
});

test('a name that answers differently the second time is judged by the answer its socket goes to', async () => {
  // First question pair: fine. Every later one: another loopback address, which is not open.
  const { fetcher, origin, dns } = await stage((_, family, turn) =>
    family === 6 ? [] : turn < 2 ? ['127.0.0.1'] : ['127.0.0.2'],
  );
  const url = `http://rebind.test:${origin.port}/`;
  const first = await fetcher.fetchPage(pageRequest(url));
  expect(first.outcome.class).toBe('served');
  expect(dns.asked).toHaveLength(2);

  const second = await fetcher.fetchPage(pageRequest(url));

  expect(second.outcome.stop).toBe('address_not_allowed');
  expect(origin.accepted()).toBe(1);
});

test('a public name on a port that only open networks may use is refused', async () => {
  const { fetcher } = await stage(() => ['93.184.216.34']);
  const page = await fetcher.fetchPage(pageRequest('http://shop.test:6379/'));
  expect(page.outcome).toMatchObject({
    stop: 'address_not_allowed',
    detail: expect.stringContaining('6379') as string,
  });
});

test.each<[DnsAnswer, object]>([
  ['nxdomain', { class: 'neutral', stop: 'dns' }],
  [[], { class: 'neutral', stop: 'dns' }],
  ['servfail', { class: 'transport', stop: null }],
  ['silence', { class: 'transport', stop: null }],
])('a name server that says %j', async (said, outcome) => {
  const { fetcher } = await stage(() => said);
  const page = await fetcher.fetchPage(pageRequest('http://gone.test/'));
  expect(page).toMatchObject({ outcome: { ...outcome, source: 'client' }, sent: false });
});

test('IPv4 is used where the question for IPv6 is never answered', async () => {
  const { fetcher, origin } = await stage((_, family) => (family === 6 ? 'silence' : ['127.0.0.1']));
  const page = await fetcher.fetchPage(pageRequest(`http://half.test:${origin.port}/`));
  expect(page.outcome.class).toBe('served');
});

test.each([
  ['refuses', '127.0.0.9'],
  ['does not answer', '240.0.0.1'],
])('an address that %s does not keep a name from being reached at its other one', async (_, dead) => {
  const { fetcher, origin } = await stage(
    (__, family) => (family === 6 ? [] : [dead, '127.0.0.1']),
    ['127.0.0.0/8', '240.0.0.0/8'],
  );
  const page = await fetcher.fetchPage(pageRequest(`http://two.test:${origin.port}/`, { budgetMs: 8_000 }));
  expect(page).toMatchObject({ outcome: { class: 'served' }, status: 200 });
  expect(page.durationMs).toBeLessThan(6_000);
});

test('a name of which no address answers is a failed connection, within the budget', async () => {
  const { fetcher, origin } = await stage(
    (_, family) => (family === 6 ? ['::1'] : ['127.0.0.8', '127.0.0.9']),
    ['127.0.0.0/8', '::1/128'],
  );
  await origin.close();
  open.splice(open.indexOf(origin), 1);
  const page = await fetcher.fetchPage(pageRequest(`http://none.test:${origin.port}/`));
  expect(page).toMatchObject({
    outcome: { class: 'transport', source: 'destination', stop: null },
    sent: false,
  });
});

test('a name with a final dot is the same name, and its server is asked for it without', async () => {
  const { fetcher, origin, dns } = await stage(() => ['127.0.0.1']);
  const page = await fetcher.fetchPage(pageRequest(`http://shop.test.:${origin.port}/`));
  expect(page.outcome.class).toBe('served');
  expect(dns.asked.length).toBeGreaterThan(0);
});

test('the budget covers name resolution', async () => {
  const { fetcher } = await stage(() => 'silence', ['127.0.0.1/32'], 20_000);
  const page = await fetcher.fetchPage(pageRequest('http://slow.test/', { budgetMs: 250 }));
  expect(page.outcome.detail).toBe('attempt budget used up (ATTEMPT_BUDGET) while resolving the name');
  expect(page.sent).toBe(false);
  expect(page.durationMs).toBeLessThan(5_000);
});

test('slow names do not hold up others', async () => {
  const { fetcher, origin } = await stage(
    (name) => (name.startsWith('slow') ? 'silence' : ['127.0.0.1']),
    ['127.0.0.1/32'],
    20_000,
  );
  const { signal, abort } = abortable();
  let slowEnded = 0;
  const slow = Array.from({ length: 40 }, async (_, i) => {
    await fetcher.fetchPage(pageRequest(`http://slow${i}.test/`, { budgetMs: 19_000, signal }));
    slowEnded += 1;
  });
  const quick = await fetcher.fetchPage(
    pageRequest(`http://quick.test:${origin.port}/`, { budgetMs: 10_000 }),
  );
  expect(quick.outcome.class).toBe('served');
  expect(slowEnded).toBe(0);
  abort();
  await Promise.all(slow);
});

function abortable(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

test('localhost never leaves the machine, and is judged like any address', async () => {
  const { fetcher, origin, dns } = await stage(() => ['93.184.216.34'], ['127.0.0.0/8', '::1/128']);
  const page = await fetcher.fetchPage(pageRequest(`http://localhost:${origin.port}/`));
  expect(page.outcome.class).toBe('served');
  expect(dns.asked).toEqual([]);
});

test('all who come while the hosts file is read for the first time find their names in it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdoff-hosts-'));
  const hostsFile = join(folder, 'hosts');
  await writeFile(hostsFile, '127.0.0.9 listed.test also.test\n');
  const dns = await stubDns(() => 'nxdomain');
  open.push(dns);
  const resolve = createResolver({ ...DEFAULT_RESOLVER, servers: [dns.server], hostsFile });
  const names = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? 'listed.test' : 'also.test'));
  const found = await Promise.all(names.map((name) => resolve(name)));
  expect(new Set(found.flat())).toEqual(new Set(['127.0.0.9']));
  await rm(folder, { recursive: true });
});
