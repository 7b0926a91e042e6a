import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from './fleet.ts';

/** The operator's commands against a real fleet: what they say must be what is. */
let fleet: Fleet;
let folder = '';
const run = promisify(execFile);

async function holdoff(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ['--enable-source-maps', 'apps/cli/dist/main.js', ...args, '--redis', fleet.redis.url];
  try {
    const { stdout, stderr } = await run(process.execPath, command, {
      env: { ...process.env, NO_COLOR: '1' },
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr };
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-operator-'));
  fleet = await startFleet({
    policy: 'preset: balanced\n',
    hosts: [
      { name: 'site' },
      {
        name: 'limited',
        rules: [{ path: '/p/*', times: 1, answer: { kind: 'status', status: 429, retryAfterSeconds: 120 } }],
      },
    ],
  });
}, 90_000);
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

test('explain says why a URL waits, until when, who decided, on what evidence and what comes next', async () => {
  const url = fleet.url('limited', '/p/1');
  await fleet.enqueue('nightly', [url]);
  await fleet.until('it was refused once', async () => {
    const seen = fleet.origin.log().filter((request) => request.path === '/p/1');
    const host = await fleet.gate.inspectHost(fleet.hostKey('limited'));
    return seen.length === 1 && (host?.cooldownUntilMs ?? 0) > 0 ? true : undefined;
  });
  const { code, stdout } = await holdoff('explain', url, '--json');
  expect(code).toBe(0);
  const told = JSON.parse(stdout) as {
    explanation: { state: string; untilMs: number; evidence: string };
    host: string;
  };
  expect(told.explanation.state).toBe('waiting');
  expect(told.explanation.untilMs).toBeGreaterThan(Date.now() + 100_000);
  expect(told.explanation.evidence).toMatch(/429.*retry-after: 120 s/);
  const people = await holdoff('explain', url);
  expect(people.stdout).toMatch(/why .*\n.*until .*in \d+ /);
}, 60_000);

test('status shows batches and the hosts that have URLs waiting', async () => {
  const { code, stdout } = await holdoff('status');
  expect(code).toBe(0);
  expect(stdout).toMatch(/nightly +1 +0 +0 +1/);
}, 60_000);

test('a paused host sends nothing until it is resumed', async () => {
  const host = fleet.hostKey('site');
  await fleet.enqueue('warm', [fleet.url('site', '/warm')]);
  await fleet.ended('warm', 1);
  expect(
    (await holdoff('host', 'pause', host, '--reason', 'their maintenance', '--by', 'ann')).stdout,
  ).toMatch(/their maintenance \(by ann/);
  await fleet.enqueue('paused', [fleet.url('site', '/paused')]);
  await fleet.until('it waits in line', async () =>
    (await fleet.gate.inspectHost(host))?.waiting === 1 ? true : undefined,
  );
  expect((await holdoff('explain', host)).stdout).toMatch(/held: their maintenance/);
  expect(fleet.origin.log().some((request) => request.path === '/paused')).toBe(false);
  await holdoff('host', 'resume', host);
  await fleet.ended('paused', 1, 15_000);
}, 90_000);

test('a batch is created, reported, compared, topped up and cancelled', async () => {
  expect(
    (
      await holdoff(
        'batch',
        'create',
        'b1',
        '--retry-tokens',
        '20',
        '--deadline',
        '6h',
        '--owner',
        'ann',
        '--approve',
      )
    ).code,
  ).toBe(0);
  await fleet.enqueue('b1', [fleet.url('site', '/b1')]);
  await fleet.ended('b1', 1);
  const report = await holdoff('batch', 'report', 'b1', '--json');
  expect(JSON.parse(report.stdout)).toMatchObject({
    jobs: 1,
    useful: 1,
    stopped: 0,
    tokens: { total: 20, spent: 0 },
  });
  const kept = join(folder, 'b1.json');
  await writeFile(kept, report.stdout);
  await fleet.enqueue('b1', [fleet.url('site', '/b1-more')]);
  await fleet.ended('b1', 2);
  expect((await holdoff('batch', 'report', 'b1', '--compare', kept)).stdout).toMatch(/useful +1 +2 +\+1/);
  expect((await holdoff('batch', 'top-up', 'b1', '5')).stdout).toMatch(/of 25 retry tokens/);
  expect((await holdoff('batch', 'cancel', 'b1', '--by', 'ann')).stdout).toMatch(/cancelled/);
}, 90_000);

test.each([
  [['explain', 'http://nowhere.test/'], /no batch has the URL/],
  [['explain', 'nothing-of-that-name'], /knows no host and no batch/],
  [['host', 'show', 'unknown.test'], /knows no host unknown\.test/],
  [['batch', 'report', 'none'], /knows no batch none/],
  [['host', 'pace', 'a.test', '--rate', 'fast'], /must be a rate/],
  [['batch', 'create', 'x y'], /a batch name is/],
])('%j is one clear line and exit code 1', async (args, message) => {
  const { code, stderr } = await holdoff(...args);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});
