import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchId, JobId } from '@holdoff/throttle-core';
import { type Fleet, startFleet } from './fleet.ts';

/** What stops can be looked at and entered again, against a real fleet and a server that got well. */
let fleet: Fleet;
const run = promisify(execFile);

async function holdoff(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ['--enable-source-maps', 'apps/cli/dist/main.js', ...args, '--redis', fleet.redis.url];
  try {
    const env = { ...process.env, NO_COLOR: '1' };
    return { code: 0, ...(await run(process.execPath, command, { env })) };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

beforeAll(async () => {
  fleet = await startFleet({
    policy: 'preset: balanced\n',
    hosts: [
      {
        name: 'site',
        rules: [
          { path: '/gone/*', times: 1, answer: { kind: 'status', status: 404 } },
          { path: '/wall', times: 1, answer: { kind: 'status', status: 401 } },
        ],
      },
    ],
  });
  const urls = ['/gone/1', '/gone/2', '/wall', '/fine'].map((path) => fleet.url('site', path));
  await fleet.enqueue('nightly', urls, { priority: '7' });
  await fleet.enqueue('other', [fleet.url('site', '/gone/other')]);
  await fleet.ended('nightly', 4);
  await fleet.ended('other', 1);
}, 90_000);
afterAll(() => fleet?.stop());

test('stopped URLs are browsed by batch, reason and host', async () => {
  const all = JSON.parse((await holdoff('stopped', '--json')).stdout) as { total: number; reasons: unknown };
  expect(all).toMatchObject({ total: 4, reasons: { permanent: 3, blocked: 1 } });
  const some = await holdoff('stopped', '--batch', 'nightly', '--reason', 'permanent', '--json');
  const { total, entries } = JSON.parse(some.stdout) as {
    total: number;
    entries: readonly Record<string, unknown>[];
  };
  expect(total).toBe(2);
  expect(entries.map(({ url }) => String(url)).toSorted((a, b) => a.localeCompare(b))).toEqual(
    [1, 2].map((n) => fleet.url('site', `/gone/${n}`)),
  );
  expect(entries[0]).toMatchObject({
    batch: 'nightly',
    host: fleet.hostKey('site'),
    reason: 'permanent',
    status: 404,
    attempts: 1,
    method: 'GET',
    priority: 7,
  });
  expect((await holdoff('stopped', '--host', fleet.hostKey('site'))).stdout).toMatch(
    /^4 stopped: permanent 3/,
  );
  expect((await holdoff('stopped', '--host', 'elsewhere.test')).stdout).toBe('no stopped URL matches\n');
}, 60_000);

test('a replay without a deadline is refused, and enters nothing', async () => {
  const { code, stderr } = await holdoff('replay', '--batch', 'nightly');
  expect(code).toBe(1);
  expect(stderr).toMatch(/needs a deadline of its own/);
  expect(await fleet.gate.inspectBatch('nightly-replay-1' as BatchId)).toBeUndefined();
}, 60_000);

test('a dry run says what would be entered, and enters nothing', async () => {
  const { stdout } = await holdoff('replay', '--batch', 'nightly', '--deadline', '6h', '--dry-run');
  expect(stdout).toMatch(/^would enter 2 as batch nightly-replay-1, deadline .*\(permanent 2\)/);
  expect(stdout).toMatch(/left out: 1 stopped as blocked; --reason blocked enters them/);
  expect(await fleet.gate.inspectBatch('nightly-replay-1' as BatchId)).toBeUndefined();
}, 60_000);

test('a replay is new work in a new batch with the deadline that was said', async () => {
  const before = Date.now();
  const told = await holdoff('replay', '--batch', 'nightly', '--deadline', '6h', '--json');
  expect(JSON.parse(told.stdout)).toMatchObject({ batch: 'nightly-replay-1', sent: 2, refused: 0 });
  const batch = await fleet.ended('nightly-replay-1', 2);
  expect(batch.jobs).toEqual({ total: 2, done: 2, stopped: 0 });
  expect(batch.deadlineMs).toBeGreaterThan(before + 5.9 * 3_600_000);
  expect(batch.deadlineMs).toBeLessThan(Date.now() + 6 * 3_600_000);
  const id = fleet.jobId('nightly-replay-1', fleet.url('site', '/gone/1')) as JobId;
  const job = await fleet.gate.inspectJob(id);
  expect(job).toMatchObject({ priority: 7, facts: { deadlineMs: batch.deadlineMs } });
  const asked = fleet.origin.log().filter(({ path }) => path === '/gone/1' || path === '/wall');
  expect(asked.map(({ path }) => path).toSorted((a, b) => a.localeCompare(b))).toEqual([
    '/gone/1',
    '/gone/1',
    '/wall',
  ]);
}, 60_000);

test('the next replay has the next name, and a named reason is replayed', async () => {
  const args = ['--batch', 'nightly', '--reason', 'blocked', '--deadline', '6h'];
  expect((await holdoff('replay', ...args)).stdout).toMatch(/^1 entered as batch nightly-replay-2/);
  await fleet.ended('nightly-replay-2', 1);
  expect((await holdoff('replay', '--batch', 'nightly-replay-2', '--deadline', '6h')).stdout).toBe(
    'nothing to replay\n',
  );
}, 60_000);

test.each([
  [['replay', '--batch', 'nobody', '--deadline', '6h'], /knows no batch nobody/],
  [['replay', '--deadline', '6h'], /say --batch, or --into/],
  [['replay', '--batch', 'nightly', '--deadline', '2020-01-01T00:00:00Z'], /has passed/],
  [['replay', '--batch', 'nightly', '--deadline', 'soon'], /must be an ISO 8601 instant/],
  [['replay', '--batch', 'nightly', '--into', 'nightly', '--deadline', '6h'], /must be another batch/],
  [['stopped', '--reason', 'bored'], /--reason must be one of permanent, /],
  [['stopped', '--limit', 'many'], /--limit must be a whole number/],
])(
  '%j is one clear line and exit code 1',
  async (args, message) => {
    const { code, stderr } = await holdoff(...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  },
  30_000,
);
