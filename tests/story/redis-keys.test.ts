import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId } from '@holdoff/throttle-core';
import { openUrlQueue, queueNames } from '@holdoff/url-job';
import { DOCUMENTED_KEYS, keysByEntry } from './documented-keys.ts';
import { type Fleet, startFleet } from './fleet.ts';

/**
 * A fleet with everything switched on that leaves keys behind, and a look at all of them. Every other fleet of these tests
 * looks at its end whether one of its keys is missing on the page; here the page is looked at as well.
 */
let fleet: Fleet;
let folder: string;
/** A sink that failed looks again or keeps what was refused; a schedule has its minute. Other tests come to these. */
const ELSEWHERE = ['{holdoff}:results:probe', '{holdoff}:undelivered', '{holdoff}:schedule-runs'];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-keys-'));
  const proxies = join(folder, 'proxies.json');
  await writeFile(
    proxies,
    JSON.stringify({ pool: { proxies: [{ name: 'p1', url: 'http://127.0.0.1:9' }] } }),
  );
  const links = '<title>Start</title><a href="/linked">linked</a>';
  fleet = await startFleet({
    policy: `
preset: balanced
retry_after: { in_place_max: 1s, defer_over: 3s }
attempt_budget: 2s
pace: { learn: { start: 50/s } }
`,
    environment: {
      PROXIES_FILE: proxies,
      HANDLER: resolve('examples/crawl.ts'),
      HANDLER_THREADS: '1',
      SINKS: 'folder,stream',
    },
    hosts: [
      {
        name: 'site',
        rules: [
          { path: '/start', answer: { kind: 'page', contentType: 'text/html', body: links, etag: true } },
          { path: '/busy', answer: { kind: 'status', status: 429, retryAfterSeconds: 300 } },
          { path: '/gone', answer: { kind: 'status', status: 410 } },
        ],
      },
      { name: 'other', latency: { kind: 'fixed', ms: 300 } },
    ],
  });
}, 120_000);
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('docs/redis-keys.md lists every key that a fleet writes, with its type, and no other', async () => {
  const names = queueNames();
  const seen = new Set<string>();
  const unknown = new Set<string>();
  const look = async (): Promise<void> => {
    const found = await keysByEntry(fleet.client);
    for (const key of found.documented) seen.add(key);
    for (const key of found.unknown) unknown.add(key);
  };
  await fleet.enqueue('keys', [fleet.url('site', '/start'), fleet.url('site', '/gone')], { deadline: '+1h' });
  await fleet.enqueue(
    'many',
    Array.from({ length: 30 }, (_, n) => fleet.url('other', `/p/${n}`)),
  );
  await fleet.client.xadd(names.inbox, '*', 'url', 'no url at all');
  const queue = openUrlQueue(fleet.client, names);
  await queue.add('url', { odd: true } as never, { jobId: fleet.jobId('keys', fleet.url('site', '/odd')) });
  const all = async (): Promise<boolean> => {
    const batch = await fleet.gate.inspectBatch('many' as BatchId);
    return batch !== undefined && batch.jobs.done === 30;
  };
  for (let looks = 0; looks < 1_000 && !(await all()); looks += 1) await look();
  await fleet.ended('many', 30);
  await fleet.ended('keys', 3);
  await fleet.enqueue('keys', [fleet.url('site', '/busy')]);
  await fleet
    .until(
      'all of the page but what other stories show was seen',
      async () => {
        await look();
        return DOCUMENTED_KEYS.every(({ key }) => seen.has(key) || ELSEWHERE.includes(key))
          ? true
          : undefined;
      },
      20_000,
    )
    .catch(() => undefined);
  expect([...unknown]).toEqual([]);
  const missing = DOCUMENTED_KEYS.map(({ key }) => key).filter((key) => !seen.has(key));
  expect(missing.filter((key) => !ELSEWHERE.includes(key))).toEqual([]);
});
