import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';

const html = (body: string) => ({ kind: 'page' as const, contentType: 'text/html', body });
const POLICY = `
preset: balanced
attempt_budget: 4s
pace: { learn: { start: 50/s } }
`;

let fleet: Fleet;
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-handlers-'));
  const handler = join(folder, 'moods.ts');
  await writeFile(
    handler,
    `import crawl from ${JSON.stringify(resolve('examples/crawl.ts'))};
     export default (page: Parameters<typeof crawl>[0]) => {
       const { pathname } = new URL(page.url);
       if (pathname === '/loop') for (;;);
       if (pathname === '/throw') throw new Error('no price here');
       if (pathname === '/garbage') return 'useful';
       return crawl(page);
     };`,
  );
  fleet = await startFleet({
    policy: POLICY,
    environment: { HANDLER: handler, HANDLER_THREADS: '2' },
    hosts: [
      {
        name: 'site',
        rules: [
          {
            path: '/start',
            answer: html('<title>Start</title><a href="/a">a</a><a href="/b">b</a><a href="mailto:x">'),
          },
          { path: '/a', answer: html('<title>A</title><a href="/b">b</a><a href="/start">up</a>') },
          { path: '/b', answer: html('<title>B</title><a href="/c?x=1&y=2#z">c</a>') },
          { path: '/c', answer: { kind: 'page', contentType: 'text/plain', body: 'no markup' } },
        ],
      },
      { name: 'moods', rules: [{ path: '/*', answer: html('<title>Mood</title>') }] },
      { name: 'other', rules: [{ path: '/*', answer: html('<title>Other</title>') }] },
    ],
  });
}, 120_000);
afterAll(async () => {
  await fleet.stop();
  await rm(folder, { recursive: true, force: true });
});

test('the links that a handler names are fetched under the same batch, each once', async () => {
  await fleet.enqueue('crawl', [fleet.url('site', '/start')]);
  await fleet.ended('crawl', 4);
  const lines = await fleet.results('crawl');
  const seen = lines.map(({ url, outcome, useful, data }) => [new URL(url).pathname, outcome, useful, data]);
  expect(seen.toSorted(([a], [b]) => String(a).localeCompare(String(b)))).toEqual([
    ['/a', 'done', true, { title: 'A' }],
    ['/b', 'done', true, { title: 'B' }],
    ['/c', 'done', false, null],
    ['/start', 'done', true, { title: 'Start' }],
  ]);
  expect(lines.find(({ url }) => url.includes('/c'))?.detail).toContain('not useful: no HTML');
  expect(await fleet.client.xlen('holdoff:inbox')).toBe(0);
});

test('a handler that fails ends its own job, the host is not blamed, and other jobs go on meanwhile', async () => {
  const bad = ['/loop', '/throw', '/garbage'];
  const startedAt = performance.now();
  await fleet.enqueue(
    'bad',
    bad.map((path) => fleet.url('moods', path)),
  );
  await fleet.until('the loop is asked for', async () =>
    fleet.origin.stats().hosts.some(({ host, requests }) => host === 'moods' && requests >= 3)
      ? true
      : undefined,
  );
  await fleet.enqueue(
    'good',
    Array.from({ length: 10 }, (_, n) => fleet.url('other', `/${n}`)),
  );
  await fleet.ended('good', 10);
  const goodAfterMs = performance.now() - startedAt;

  const batch = await fleet.ended('bad', 3);
  expect(batch).toMatchObject({ attempts: 3, stoppedBy: { handler_failed: 3 }, recovered: 0 });
  const lines = await fleet.results('bad');
  const details = Object.fromEntries(lines.map(({ url, detail }) => [new URL(url).pathname, detail]));
  expect(details).toEqual({
    '/loop': expect.stringMatching(
      /the handler failed: it took longer than the \d+ ms that were left/,
    ) as string,
    '/throw': expect.stringContaining('the handler failed: it threw Error: no price here') as string,
    '/garbage': expect.stringContaining('the handler failed: it returned a value of type string') as string,
  });
  expect(
    lines.every(({ status, useful, reason }) => status === 200 && !useful && reason === 'handler_failed'),
  ).toBe(true);
  const host = await fleet.gate.inspectHost(fleet.hostKey('moods'));
  expect(host).toMatchObject({ circuit: { state: 'closed' }, hold: null, leases: [] });
  expect((await fleet.results('good')).every(({ outcome }) => outcome === 'done')).toBe(true);
  expect(goodAfterMs, 'ms until ten good pages were done beside a handler that loops').toBeLessThan(30_000);
});

const CONCURRENCY = 4;
const isRoot = process.getuid?.() === 0;
test.runIf(isRoot)(
  'a full disk ends no job, blames no host, pauses the intake, and heals by itself',
  async () => {
    const disk = await mkdtemp(join(tmpdir(), 'holdoff-small-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk]);
    const small = await startFleet({
      policy: POLICY,
      hosts: [{ name: 'site', rules: [{ path: '/*', answer: html('<title>Page</title>') }] }],
      workers: 0,
    });
    try {
      small.startWorker({ RESULTS_DIR: disk, WORKER_CONCURRENCY: String(CONCURRENCY) });
      await small.until('the worker has its folder', async () =>
        readFile(join(disk, '.results-id')).catch(() => undefined),
      );
      await writeFile(join(disk, 'filler'), new Uint8Array(1024 * 1024)).catch(() => undefined);
      await small.enqueue(
        'full',
        Array.from({ length: 40 }, (_, n) => small.url('site', `/${n}`)),
      );
      const requests = (): number => small.origin.stats().hosts[0]?.requests ?? 0;
      await small.until('pages are fetched', async () => (requests() >= 4 ? true : undefined));
      // Longer than the pause of a job that could not be handed over: it must not be taken again.
      await new Promise((done) => setTimeout(done, 7_000));
      expect(requests(), 'requests while the disk was full').toBeLessThan(20);
      expect(await small.gate.inspectBatch('full' as BatchId)).toMatchObject({
        jobs: { done: 0, stopped: 0 },
        tokens: { spent: 0 },
      });
      const host = await small.gate.inspectHost(small.hostKey('site'));
      expect(host).toMatchObject({ circuit: { state: 'closed' }, hold: null });

      await rm(join(disk, 'filler'));
      const batch = await small.ended('full', 40, 60_000);
      expect(batch.jobs).toMatchObject({ done: 40, stopped: 0 });
      // Only what was in flight when the disk was full is sent again; each of those is a re-send of the batch.
      expect(batch.tokens?.spent).toBeLessThanOrEqual(CONCURRENCY);
      expect(batch.requests, 'pages, those sent again, robots.txt').toBeLessThanOrEqual(40 + CONCURRENCY + 1);
    } finally {
      await small.stop();
      execFileSync('umount', [disk]);
      await rm(disk, { recursive: true, force: true });
    }
  },
  150_000,
);
