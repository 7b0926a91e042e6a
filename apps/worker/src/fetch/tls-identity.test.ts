import tls from 'node:tls';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import { pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer } from '../testing/raw-server.ts';

const DAY_MS = 86_400_000;
const defaults = tls.getCACertificates('default');
let fetcher: PageFetcher;
let authority: { key: string; cert: string };
const servers: RawServer[] = [];

beforeAll(async () => {
  const made = await generate([{ name: 'commonName', value: 'Test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  authority = { key: made.private, cert: made.cert };
  tls.setDefaultCACertificates([...defaults, made.cert]);
  fetcher = createFetchPage({
    addresses: { extraPorts: [], allowedNetworks: ['127.0.0.0/8'] },
    userAgent: 'Holdoff/test',
    resolve: async () => ['127.0.0.1'],
  });
});
afterAll(async () => {
  tls.setDefaultCACertificates(defaults);
  fetcher.close();
  await Promise.all(servers.map((server) => server.close()));
});

async function secure(options: {
  name: string;
  signed: boolean;
  fromMs?: number;
  toMs?: number;
}): Promise<RawServer> {
  const made = await generate([{ name: 'commonName', value: options.name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() + (options.fromMs ?? -DAY_MS)),
    notAfterDate: new Date(Date.now() + (options.toMs ?? DAY_MS)),
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'subjectAltName', altNames: [{ type: 2, value: options.name }] },
    ],
    ...(options.signed ? { ca: authority } : {}),
  });
  const server = await rawServer((socket) => socket.write(answer('200 OK', [], 'secret page')), {
    key: made.private,
    cert: made.cert,
  });
  servers.push(server);
  return server;
}

test('a certificate that an authority vouches for is accepted, and its socket is used again', async () => {
  const server = await secure({ name: 'shop.test', signed: true });
  for (let turn = 0; turn < 2; turn += 1) {
    const page = await fetcher.fetchPage(pageRequest(`https://shop.test:${server.port}/`));
    expect(page).toMatchObject({ outcome: { class: 'served' }, sent: true, status: 200 });
  }
  expect(server.accepted()).toBe(1);
});

test.each([
  ['self-signed', { name: 'shop.test', signed: false }],
  ['for another host', { name: 'other.test', signed: true }],
  ['expired', { name: 'shop.test', signed: true, fromMs: -3 * DAY_MS, toMs: -DAY_MS }],
  ['not valid yet', { name: 'shop.test', signed: true, fromMs: DAY_MS, toMs: 3 * DAY_MS }],
] as const)(
  'a certificate that is %s ends the job, before any byte of the request is sent',
  async (_, options) => {
    const server = await secure(options);
    const page = await fetcher.fetchPage(pageRequest(`https://shop.test:${server.port}/`));
    expect(page).toMatchObject({ outcome: { class: 'neutral', stop: 'tls' }, sent: false, status: 0 });
    expect(server.heads).toEqual([]);
  },
);

test('a server that speaks no TLS, or stops within the handshake, may be asked again', async () => {
  const plain = await rawServer((socket) => socket.write(answer('200 OK', [])));
  const silent = await rawServer(() => undefined);
  servers.push(plain, silent);
  const wrong = await fetcher.fetchPage(pageRequest(`https://shop.test:${plain.port}/`, { budgetMs: 500 }));
  expect(wrong).toMatchObject({ outcome: { class: 'transport', stop: null }, sent: false });
  const never = await fetcher.fetchPage(pageRequest(`https://shop.test:${silent.port}/`, { budgetMs: 200 }));
  expect(never).toMatchObject({
    outcome: {
      class: 'transport',
      detail: 'attempt budget used up (ATTEMPT_BUDGET) during the TLS handshake',
    },
    sent: false,
  });
});
