import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId, JobId } from '@holdoff/throttle-core';
import { queueNames } from '@holdoff/url-job';
import { type Fleet, startFleet } from './fleet.ts';

/** Recurring work by the clock, with two schedulers and a server that sees what they did. */
let fleet: Fleet;
let folder = '';
const names = queueNames();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-recurring-'));
  const path = join(folder, 'schedules.yaml');
  await writeFile(path, 'schedules: []\n');
  fleet = await startFleet({
    // One 429 ends a run; the next one may go on a little after the next minute has begun.
    policy: 'preset: balanced\nattempts: { max_429_per_run: 0 }\ndefer: { next_run_after: 62s }\n',
    hosts: [
      { name: 'site' },
      { name: 'mapped' },
      {
        name: 'busy',
        rules: [{ path: '/slow', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 1 } }],
      },
    ],
    schedulers: 2,
    environment: { SCHEDULES_FILE: path },
  });
  const xml = (body: string) => ({ kind: 'page' as const, contentType: 'application/xml', body });
  const at = (path: string): string => `<loc>${fleet.url('mapped', path)}</loc>`;
  fleet.origin.setRules('mapped', [
    { path: '/sitemap.xml', times: 1, answer: { kind: 'status', status: 503, retryAfterSeconds: 1 } },
    {
      path: '/sitemap.xml',
      answer: xml(`<sitemapindex><sitemap>${at('/part.xml')}</sitemap></sitemapindex>`),
    },
    {
      path: '/part.xml',
      answer: xml(
        `<urlset><url>${at('/one')}</url><url>${at('/two')}</url><url><loc>https://elsewhere.test/</loc></url></urlset>`,
      ),
    },
  ]);
  await writeFile(
    path,
    `schedules:
  - { name: mapped, cron: '* * * * *', sitemap: '${fleet.url('mapped', '/sitemap.xml')}' }
  - { name: numbered, cron: '* * * * *', urls: ['${fleet.url('mapped', '/n/{08..10}?d={date}')}'] }
  - { name: minutely, cron: '* * * * *', list: urls.txt, retry_tokens: 3, overlap: queue }
  - { name: handover, cron: '* * * * *', list: busy.txt, retry_tokens: 3 }
`,
  );
  await writeFile(join(folder, 'busy.txt'), `${fleet.url('busy', '/slow')}\n${fleet.url('busy', '/fine')}\n`);
  await writeFile(
    join(folder, 'urls.txt'),
    `# each minute\n${fleet.url('site', '/a')}\n${fleet.url('site', '/b')}\n`,
  );
}, 90_000);
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('of two schedulers one makes the run of a minute, and each URL is asked for once', async () => {
  const run = await fleet.until(
    'a run has begun',
    async () => {
      const latest = await fleet.client.hget(names.scheduleRuns, 'minutely');
      return latest === null ? undefined : (JSON.parse(latest) as { readonly batch: string });
    },
    90_000,
  );
  expect(run.batch).toMatch(/^minutely-\d{8}T\d{4}$/);
  const batch = await fleet.ended(run.batch, 2);
  expect(batch).toMatchObject({ owner: 'schedule', tokens: { total: 3 }, jobs: { total: 2, done: 2 } });
  expect(batch.attempts).toBe(2);
  const asked = fleet.origin.log().filter(({ path }) => path === '/a' || path === '/b');
  const runs = (await fleet.gate.listBatches()).filter((name) => name.startsWith('minutely-'));
  // The next minute may have begun meanwhile; no minute has asked for a page twice.
  expect(asked.length).toBeGreaterThanOrEqual(2);
  expect(asked.length).toBeLessThanOrEqual(2 * runs.length);
}, 150_000);

test('a URL that was deferred to the next run joins it under its old id, and is not asked for twice there', async () => {
  const latest = async (): Promise<string> => {
    const run = await fleet.client.hget(names.scheduleRuns, 'handover');
    return run === null ? '' : (JSON.parse(run) as { readonly batch: string }).batch;
  };
  const first = await fleet.until('a run', async () => (await latest()) || undefined, 90_000);
  const id = fleet.jobId(first, fleet.url('busy', '/slow')) as JobId;
  const deferred = await fleet.until('it was deferred', async () => {
    const job = await fleet.gate.inspectJob(id);
    return job?.awaitsRun === true ? job : undefined;
  });
  expect(deferred).toMatchObject({ batch: first, facts: { attempts: 1, deferrals: 1, run: 2 } });
  // The run before is over by that, though `overlap` is skip.
  const second = await fleet.until(
    'the next run',
    async () => ((await latest()) === first ? undefined : await latest()),
    90_000,
  );
  const batch = await fleet.ended(second, 2);
  expect(batch).toMatchObject({
    jobs: { total: 2, done: 2, stopped: 0 },
    attempts: 2,
    resends: 0,
    recovered: 1,
    tokens: { total: 3, spent: 0 },
  });
  expect(await fleet.gate.inspectBatch(first as BatchId)).toMatchObject({
    jobs: { total: 2, done: 1, stopped: 0 },
    away: 0,
    movedOn: 1,
    deferrals: 1,
    tokens: { spent: 0 },
  });
  const job = await fleet.gate.inspectJob(id);
  expect(job).toMatchObject({ batch: second, ended: { kind: 'done' }, facts: { attempts: 2, deferrals: 1 } });
  expect(job?.facts.startedAtMs).toBe(deferred.facts.startedAtMs);
  const lines = await fleet.results(second);
  expect(lines.find(({ url }) => url.endsWith('/slow'))).toMatchObject({
    job: id,
    attempts: 2,
    useful: true,
  });
  expect(fleet.origin.log().filter(({ path }) => path === '/slow')).toHaveLength(2);
}, 240_000);

test('a sitemap is fetched like any page, with the waits of its host, and what it lists is entered', async () => {
  const run = await fleet.until(
    'a run',
    async () => {
      const latest = await fleet.client.hget(names.scheduleRuns, 'mapped');
      return latest === null ? undefined : (JSON.parse(latest) as { readonly batch: string }).batch;
    },
    90_000,
  );
  const batch = await fleet.ended(run, 4);
  expect(batch.jobs).toEqual({ total: 4, done: 4, stopped: 0 });
  const lines = await fleet.results(run);
  expect(lines.map(({ url }) => new URL(url).pathname).toSorted()).toEqual([
    '/one',
    '/part.xml',
    '/sitemap.xml',
    '/two',
  ]);
  expect(lines.find(({ url }) => url.endsWith('/part.xml'))?.data).toEqual({
    sitemap: 'urls',
    entries: 3,
    followed: 2,
  });
}, 150_000);

test('a URL template stands for its range, on the day of the firing', async () => {
  const asked = await fleet.until(
    'three pages',
    async () => {
      const seen = fleet.origin.log().filter(({ path }) => path.startsWith('/n/'));
      return seen.length >= 3 ? seen : undefined;
    },
    90_000,
  );
  const dated = [...new Set(asked.map(({ path }) => path.replace(/\d{4}-\d\d-\d\d$/, 'DAY')))];
  expect(dated.toSorted()).toEqual(['/n/08?d=DAY', '/n/09?d=DAY', '/n/10?d=DAY']);
}, 120_000);
