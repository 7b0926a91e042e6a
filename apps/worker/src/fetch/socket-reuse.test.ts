import tls from 'node:tls';
import { generate } from 'selfsigned';
import { afterEach, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import { DEFAULT_POOL } from '../guard/pool-limits.ts';
import { memoryInUseMiB } from '../testing/memory-in-use.ts';
import { LOOPBACK_OPEN, pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer } from '../testing/raw-server.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

function fetcherWith(pool = DEFAULT_POOL): PageFetcher {
  const fetcher = createFetchPage({
    addresses: LOOPBACK_OPEN,
    userAgent: 'Holdoff/test',
    pool,
    resolve: async () => ['127.0.0.1'],
  });
  open.push(fetcher);
  return fetcher;
}

/** Answers the first request on each connection, and cuts the connection when a second one comes in on it. */
async function onceOnly(cut: 'reset' | 'close', how?: tls.TlsOptions): Promise<RawServer> {
  const used = new WeakSet();
  const server = await rawServer((socket) => {
    if (!used.has(socket)) {
      used.add(socket);
      socket.write(answer('200 OK', [], 'page'));
    } else if (cut === 'reset') socket.resetAndDestroy();
    else socket.end();
  }, how);
  open.push(server);
  return server;
}

test.each(['reset', 'close'] as const)(
  'a %s of an idle socket just as it is taken is one replay on a new socket, not a failure',
  async (cut) => {
    const fetcher = fetcherWith();
    const server = await onceOnly(cut);
    for (let turn = 0; turn < 50; turn += 1) {
      const page = await fetcher.fetchPage(pageRequest(`${server.origin}/${turn}`));
      expect(page).toMatchObject({ outcome: { class: 'served' }, status: 200, sent: true });
    }
  },
);

test('the same over TLS', async () => {
  const made = await generate([{ name: 'commonName', value: 'shop.test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
  });
  const before = tls.getCACertificates();
  tls.setDefaultCACertificates([...before, made.cert]);
  try {
    const fetcher = fetcherWith();
    const server = await onceOnly('close', { key: made.private, cert: made.cert });
    for (let turn = 0; turn < 6; turn += 1) {
      const page = await fetcher.fetchPage(pageRequest(`https://shop.test:${server.port}/${turn}`));
      expect(page).toMatchObject({ outcome: { class: 'served' }, status: 200 });
    }
  } finally {
    tls.setDefaultCACertificates(before);
  }
});

test('a server that cuts the new socket too is a failure after that one replay', async () => {
  const fetcher = fetcherWith();
  let answers = 0;
  const server = await rawServer((socket) => {
    if (answers++ === 0) socket.write(answer('200 OK', [], 'page'));
    else socket.resetAndDestroy();
  });
  open.push(server);
  await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
  const page = await fetcher.fetchPage(pageRequest(`${server.origin}/b`));
  expect(page).toMatchObject({ outcome: { class: 'transport' }, sent: true });
  expect(server.requestLines.filter((line) => line.startsWith('GET /b'))).toHaveLength(2);
});

test('a server that took its time before it cut the connection had the request: it is not sent again', async () => {
  const fetcher = fetcherWith();
  let answers = 0;
  const server = await rawServer((socket) => {
    if (answers++ === 0) socket.write(answer('200 OK', [], 'page'));
    else setTimeout(() => socket.resetAndDestroy(), 1_200);
  });
  open.push(server);
  await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
  const page = await fetcher.fetchPage(pageRequest(`${server.origin}/b`));
  expect(page).toMatchObject({ outcome: { class: 'transport' }, sent: true });
  expect(server.requestLines).toHaveLength(2);
});

test('what a stale socket took is part of the time until the answer, which began no earlier', async () => {
  const fetcher = fetcherWith();
  let answers = 0;
  const server = await rawServer((socket) => {
    answers += 1;
    if (answers === 2) setTimeout(() => socket.resetAndDestroy(), 400);
    else socket.write(answer(answers === 1 ? '200 OK' : '429 Too Many Requests', ['Retry-After: 5'], 'page'));
  });
  open.push(server);
  await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
  const page = await fetcher.fetchPage(pageRequest(`${server.origin}/b`));
  expect(page.status).toBe(429);
  expect(page.latencyMs).toBeGreaterThanOrEqual(400);
  expect(page.durationMs - page.latencyMs).toBeLessThan(300);
});

test('a reset after the first byte of the answer is not replayed, nor one on a new socket', async () => {
  const fetcher = fetcherWith();
  let answers = 0;
  const server = await rawServer((socket) => {
    if (answers++ === 0) socket.write(answer('200 OK', [], 'page'));
    else socket.write('HTTP/1.1 2', () => setTimeout(() => socket.resetAndDestroy(), 20));
  });
  open.push(server);
  await fetcher.fetchPage(pageRequest(`${server.origin}/a`));
  expect((await fetcher.fetchPage(pageRequest(`${server.origin}/b`))).outcome.class).toBe('transport');
  expect((await fetcher.fetchPage(pageRequest(`${server.origin}/c`))).outcome.class).toBe('transport');
  expect(server.requestLines.map((line) => line.slice(4, 6))).toEqual(['/a', '/b', '/c']);
});

test('idle sockets are bounded per origin and in all, and closed by us before the server would', async () => {
  const fetcher = fetcherWith({ perOriginMax: 10, idlePerOriginMax: 3, idleMax: 4, idleMs: 1_000 });
  const servers = await Promise.all(
    [0, 1, 2].map(() => rawServer((socket) => socket.write(answer('200 OK', [])))),
  );
  open.push(...servers);
  await Promise.all(
    servers.flatMap((server) =>
      Array.from({ length: 6 }, () => fetcher.fetchPage(pageRequest(`${server.origin}/`))),
    ),
  );
  const idle = (): number => servers.reduce((sum, server) => sum + server.open(), 0);
  await expect.poll(idle, { timeout: 900, interval: 5 }).toBeLessThanOrEqual(4);
  expect(Math.max(...servers.map((server) => server.open()))).toBeLessThanOrEqual(3);
  await expect.poll(idle, { timeout: 5_000 }).toBe(0);
});

test('500 refusals with a large body leave no more sockets than the pool holds, and hold no memory', async () => {
  const fetcher = fetcherWith();
  const body = Buffer.alloc(300_000, 'x');
  const server = await rawServer((socket) =>
    socket.write(answer('429 Too Many Requests', ['Retry-After: 5'], body)),
  );
  open.push(server);
  const burst = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 10) {
      const pages = await Promise.all(
        Array.from({ length: 10 }, () => fetcher.fetchPage(pageRequest(`${server.origin}/`))),
      );
      for (const page of pages) expect(page.outcome.class).toBe('throttled');
    }
  };
  await burst(50);
  const before = memoryInUseMiB();
  await burst(500);
  await expect.poll(() => server.open(), { timeout: 20_000 }).toBeLessThanOrEqual(8);
  const after = memoryInUseMiB();
  expect(after.held - before.held).toBeLessThan(10);
}, 60_000);
