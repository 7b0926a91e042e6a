import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
    policy: 'preset: balanced\n',
    hosts: [{ name: 'site' }],
    schedulers: 2,
    environment: { SCHEDULES_FILE: path },
  });
  await writeFile(
    path,
    `schedules:\n  - { name: minutely, cron: '* * * * *', list: urls.txt, retry_tokens: 3, overlap: queue }\n`,
  );
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
