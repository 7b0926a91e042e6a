import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { secretsIn } from '../fleet/oracle.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { type ProxyProcess, startProxy } from './proxy-fleet.ts';

/** Every secret that passes through a fleet, planted under a text of its own that is looked for everywhere afterwards. */
const SECRETS = {
  query: 'canary-query-1f2e',
  redirectQuery: 'canary-redirect-2d3c',
  userinfo: 'canary-userinfo-3c4b',
  locationUserinfo: 'canary-location-4b5a',
  header: 'canary-header-5a6f',
  apiKey: 'canary-apikey-6f7e',
  cookie: 'canary-cookie-7e8d',
  body: 'canary-body-8d9c',
  proxyUser: 'canary-proxyuser-9c0b',
  proxyPassword: 'canary-proxypass-0b1a',
  wrongPassword: 'canary-wrongpass-1a2f',
  webhookSecret: 'canary-webhook-2f3e',
  webhookPath: 'canary-hookpath-3e4d',
} as const;
/** Read base64 too: that is how they travel. Its beginning does not depend on what follows. */
const encoded = [SECRETS.proxyUser, SECRETS.wrongPassword].map((text) =>
  Buffer.from(text).toString('base64').slice(0, 16),
);
const NEVER = [...Object.values(SECRETS), ...encoded];

const POLICY = `
preset: balanced
attempt_budget: 2s
attempts: { max_total: 2 }
backoff: { base: 50ms, cap: 100ms }
batch_tokens: { share: 2, least: 100 }
pace: { learn: { start: 200/s } }
hosts:
  HOST:proxied: { proxy: fine }
  HOST:locked: { proxy: locked }
`;
const run = promisify(execFile);

let fleet: Fleet;
let folder = '';
let hook: Server;
let fine: ProxyProcess;
let locked: ProxyProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-secrets-'));
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  fine = await startProxy('http');
  locked = await startProxy('http');
  await locked.behave(407);
  const login = await file('login', `${SECRETS.proxyUser}:${SECRETS.proxyPassword}\n`);
  let turn = 0;
  hook = createServer((request, response) => {
    turn += 1;
    request.resume().on('end', () => response.writeHead(turn < 3 ? 500 : 200).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const headers = { authorization: `Bearer ${SECRETS.header}`, 'x-partner-key': SECRETS.apiKey };
  fleet = await startFleet({
    policy: POLICY,
    workers: 1,
    keepLogs: true,
    hosts: [
      { name: 'plain', page: { cookies: [`sid=${SECRETS.cookie}`], body: `<p>${SECRETS.body}</p>` } },
      { name: 'proxied', page: { cookies: [`sid=${SECRETS.cookie}`] } },
      { name: 'locked' },
      {
        name: 'failing',
        rules: [
          { path: '/reset/*', answer: { kind: 'reset' } },
          { path: '/never/*', answer: { kind: 'never' } },
          {
            path: '/403/*',
            answer: {
              kind: 'status',
              status: 403,
              headers: { 'www-authenticate': `Basic realm="${SECRETS.cookie}"` },
            },
          },
          { path: '/429/*', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 1 } },
          { path: '/bomb/*', answer: { kind: 'bomb', encoding: 'gzip', decodedBytes: 30_000_000 } },
        ],
      },
      {
        name: 'leading',
        rules: [
          {
            path: '/userinfo/*',
            answer: {
              kind: 'page',
              status: 302,
              headers: { location: `http://me:${SECRETS.locationUserinfo}@other.test/` },
            },
          },
          {
            path: '/token/*',
            answer: {
              kind: 'page',
              status: 302,
              headers: { location: `/404?access_token=${SECRETS.redirectQuery}` },
            },
          },
          { path: '/404*', answer: { kind: 'status', status: 404 } },
        ],
      },
    ],
    environment: {
      LOG_LEVEL: 'trace',
      SINKS: 'folder,stream,webhook,warc',
      HEADERS_FILE: await file('headers.json', JSON.stringify({ partner: headers })),
      PROXIES_FILE: await file(
        'proxies.json',
        JSON.stringify({
          fine: { proxies: [{ name: 'fine', url: fine.url, credentials: { file: login } }] },
          locked: {
            proxies: [{ name: 'locked', url: locked.url, credentials: { variable: 'LOCKED_LOGIN' } }],
          },
        }),
      ),
      LOCKED_LOGIN: `user:${SECRETS.wrongPassword}`,
      WEBHOOK_URL: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/in/${SECRETS.webhookPath}`,
      WEBHOOK_SECRET_FILE: await file('webhook', SECRETS.webhookSecret),
    },
  });
}, 120_000);
afterAll(async () => {
  await fleet?.stop();
  await Promise.all([fine?.kill(), locked?.kill()]);
  hook?.close();
  await rm(folder, { recursive: true, force: true });
});

/** All of Redis. `theirs`: also the places where a producer's own URL stands by design. */
async function redisTexts(theirs: boolean): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for await (const keys of fleet.client.scanStream({ count: 500 })) {
    for (const key of keys as string[]) {
      const own = /:urls:|:inbox$|:stopped$|:results$|:rejected$/.test(key);
      if (own && !theirs) continue;
      texts[`Redis ${key}`] = (await fleet.client.dumpBuffer(key))?.toString('latin1') ?? '';
    }
  }
  return texts;
}

async function metricsTexts(): Promise<Record<string, string>> {
  const ports = [...fleet.logged().matchAll(/"metricsPort":(\d+)/g)].map(([, port]) => port);
  expect(ports.length).toBeGreaterThan(0);
  const texts: Record<string, string> = {};
  for (const port of ports)
    for (const path of ['metrics', 'readyz'])
      texts[`${path} on ${port}`] = await (await fetch(`http://127.0.0.1:${port}/${path}`)).text();
  return texts;
}

async function holdoff(...args: string[]): Promise<string> {
  const command = ['--enable-source-maps', 'apps/cli/dist/main.js', ...args, '--redis', fleet.redis.url];
  const told = await run(process.execPath, command).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return told.stdout + told.stderr;
}

test('no planted secret is in a log line, a metric, Redis, a result, or what the commands say', async () => {
  const query = `?api_key=${SECRETS.query}`;
  const paths: readonly (readonly [string, string])[] = [
    ['plain', '/p/1'],
    ['proxied', '/p/1'],
    ['failing', '/reset/1'],
    ['failing', '/never/1'],
    ['failing', '/403/1'],
    ['failing', '/429/1'],
    ['failing', '/bomb/1'],
    ['leading', '/userinfo/1'],
    ['leading', '/token/1'],
  ];
  const urls = paths.map(([host, path]) => fleet.url(host, path) + query);
  await fleet.enqueue('secrets', urls, { headers: 'partner' });
  // Waits for a proxy that never lets it through: looked at, not waited for.
  const waiting = fleet.url('locked', '/p/1') + query;
  await fleet.enqueue('locked', [waiting], { headers: 'partner' });
  // Refused at the door.
  await fleet.enqueue('door', [`http://me:${SECRETS.userinfo}@site.test/`]);
  await fleet.ended('secrets', urls.length);
  await fleet.until('the refused entry is set aside', async () =>
    (await fleet.client.xlen('holdoff:rejected')) > 0 ? true : undefined,
  );
  await fleet.until('the login was refused', async () => (fleet.logged().includes('407') ? true : undefined));
  const page = fleet.origin.log().find(({ host, job }) => host === 'proxied' && job !== null);
  expect(page?.status, 'the proxy was used').toBe(200);

  const said = {
    explain: await holdoff('explain', waiting, '--batch', 'locked'),
    stopped: await holdoff('stopped', '--json'),
    proxy: await holdoff('host', 'show', 'proxy:locked'),
    status: await holdoff('status'),
  };
  expect(said.proxy).toContain('407');
  const nowhere = {
    logs: fleet.logged(),
    ...(await metricsTexts()),
    ...(await redisTexts(false)),
    proxy: said.proxy,
    status: said.status,
  };
  expect(fleet.logged()).toContain('"msg":"attempt"');
  expect(secretsIn(nowhere, NEVER)).toEqual([]);

  // A result and a queued job have the URL that the producer gave, and the page; never what only the workers know.
  const results = await readFile(join(fleet.folder, 'results', 'results.jsonl'), 'utf8');
  const theirs = new Set<string>([SECRETS.query, SECRETS.redirectQuery, SECRETS.body]);
  const ours = NEVER.filter((secret) => !theirs.has(secret));
  expect(results.split('\n').length).toBeGreaterThan(urls.length);
  expect(
    secretsIn({ results, explain: said.explain, stopped: said.stopped, ...(await redisTexts(true)) }, ours),
  ).toEqual([]);
}, 120_000);
