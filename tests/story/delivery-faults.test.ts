import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from './fleet.ts';

/** Places that do not take results, and what that costs: nothing but time. The batches have no retry tokens at all. */
const POLICY = `
preset: balanced
concurrency: 4
attempt_budget: 2s
batch_tokens: { share: 0, least: 0 }
host_tokens: { per_success: 0.1, cap: 1, start: 0 }
pace: { learn: { start: 100/s } }
`;

let fleet: Fleet;
let folder = '';
let hook: Server;
const received: { readonly key: string; readonly status: number }[] = [];
let hookStatus = 200;

const isRoot = process.getuid?.() === 0;
/** A real small disk; without root its part of the stories cannot be told. */
const disk = (): string => join(folder, 'disk');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-faults-'));
  await writeFile(join(folder, 'secret'), 'a secret of sixteen characters');
  if (isRoot) {
    execFileSync('mkdir', [disk()]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk()]);
  }
  hook = createServer((request, response) => {
    const status = hookStatus;
    if (request.headers['x-holdoff-event'] === 'result')
      received.push({ key: String(request.headers['idempotency-key']), status });
    request.resume().on('end', () => response.writeHead(status).end());
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  fleet = await startFleet({
    policy: POLICY,
    workers: 0,
    hosts: ['webhook', 'longer', 'full'].map((name) => ({ name })),
    environment: {
      WEBHOOK_URL: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
      WEBHOOK_SECRET_FILE: join(folder, 'secret'),
    },
  });
}, 120_000);
afterAll(async () => {
  await fleet?.stop();
  hook?.close();
  if (isRoot) execFileSync('umount', [disk()]);
  await rm(folder, { recursive: true, force: true });
});

const urlsOf = (host: string, count: number) =>
  Array.from({ length: count }, (_, n) => fleet.url(host, `/p/${n}`));
const seenOf = (host: string) =>
  fleet.origin.log().filter((request) => request.host === host && request.job !== null);

async function hostIsFine(host: string): Promise<void> {
  expect(await fleet.gate.inspectHost(fleet.hostKey(host))).toMatchObject({
    circuit: { state: 'closed', consecutiveResponses: 0 },
    cooldownUntilMs: 0,
    leases: [],
  });
}

test('a webhook that fails for some seconds gets each page that was fetched, and no page is fetched again', async () => {
  const worker = await fleet.workerNamed('w-webhook', { SINKS: 'folder,webhook' });
  hookStatus = 503;
  const urls = urlsOf('webhook', 8);
  await fleet.enqueue('webhook', urls);
  await fleet.until('pages are kept', async () => (received.length >= 4 ? true : undefined));
  // Nothing of the host is held by a page that waits for the webhook.
  await fleet.until('their slots are free', async () =>
    (await fleet.gate.inspectHost(fleet.hostKey('webhook')))?.leases.length === 0 ? true : undefined,
  );
  hookStatus = 200;
  const batch = await fleet.ended('webhook', urls.length);
  expect(batch).toMatchObject({ jobs: { done: urls.length }, attempts: urls.length });
  expect(seenOf('webhook')).toHaveLength(urls.length);
  const taken = received.filter(({ status }) => status === 200).map(({ key }) => key);
  expect(taken).toHaveLength(urls.length);
  expect(new Set(taken).size).toBe(urls.length);
  // The folder took them before the webhook refused them, once each.
  const lines = await fleet.results('webhook');
  expect(lines.map(({ key }) => key).toSorted()).toEqual(taken.toSorted());
  await hostIsFine('webhook');
  await fleet.end(worker);
});

test('a webhook that is away for longer costs a second fetch, and neither an attempt nor a token', async () => {
  received.length = 0;
  hookStatus = 500;
  const worker = await fleet.workerNamed('w-longer', { SINKS: 'webhook' });
  const [url = ''] = urlsOf('longer', 1);
  await fleet.enqueue('longer', [url]);
  await fleet.until('it was given up', async () => (received.length >= 7 ? true : undefined), 60_000);
  hookStatus = 200;
  const batch = await fleet.ended('longer', 1);
  expect(batch).toMatchObject({ jobs: { done: 1 }, attempts: 1, tokens: { spent: 0 } });
  expect(seenOf('longer').map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(new Set(received.map(({ key }) => key)).size).toBe(1);
  await hostIsFine('longer');
  await fleet.end(worker);
}, 120_000);

test.runIf(isRoot)(
  'a full disk pauses the intake; when there is room again everything is there, once',
  async () => {
    const filler = join(disk(), 'filler');
    const worker = await fleet.workerNamed('w-full', { SINKS: 'folder', RESULTS_DIR: disk() });
    await writeFile(filler, new Uint8Array(2 * 1024 * 1024)).catch(() => undefined);
    const urls = urlsOf('full', 30);
    await fleet.enqueue('full', urls);
    await fleet.until('a page was fetched', async () => (seenOf('full').length > 0 ? true : undefined));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const fetched = seenOf('full').length;
    // The intake is paused: what was in flight when the fault showed, and no more.
    expect(fetched).toBeLessThan(urls.length);
    await rm(filler);
    const batch = await fleet.ended('full', urls.length);
    expect(batch).toMatchObject({ jobs: { done: urls.length }, attempts: urls.length, tokens: { spent: 0 } });
    expect(seenOf('full')).toHaveLength(urls.length);
    const keys = (await readFile(join(disk(), 'results.jsonl'), 'utf8')).split('\n').flatMap((line) => {
      try {
        return [(JSON.parse(line) as { key: string }).key];
      } catch {
        return [];
      }
    });
    expect(new Set(keys).size).toBe(urls.length);
    expect(keys).toHaveLength(urls.length);
    await hostIsFine('full');
    await fleet.end(worker);
  },
);
