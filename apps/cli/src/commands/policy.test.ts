import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandForTest } from '../testing/run-command.ts';
import { policyCommand } from './policy.ts';

let folder = '';
let good = '';
let bad = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-policy-'));
  good = join(folder, 'good.yaml');
  bad = join(folder, 'bad.yaml');
  await writeFile(
    good,
    'preset: strict-budget\nconcurrency: 2\ngroups: {shop: {hosts: ["*.shop.test"], ramp: on}}\nhosts:\n  a.test: {backoff: {cap: 9s}}\n',
  );
  await writeFile(bad, 'concurrency: 0\nretries: 3\n');
});
afterAll(() => rm(folder, { recursive: true }));

function policy(args: readonly string[]) {
  return runCommandForTest(policyCommand, args);
}

/** The printed columns of one key. */
function columnsOf(out: string, key: string): string[] {
  const line = out.split('\n').find((text) => text.trim().startsWith(`${key} `)) ?? '';
  return line.trim().split(/ {2,}/);
}

describe('holdoff policy check', () => {
  test('prints each value in force and where it comes from', async () => {
    const { out, exitCode } = await policy(['check', good, '--url', 'https://a.test/x']);
    expect(exitCode).toBe(0);
    expect(out).toContain(`valid  ${good}: preset strict-budget, 1 group, 1 host entry\n`);
    expect(out).toContain('throttled as a.test');
    expect(columnsOf(out, 'backoff.cap')).toEqual(['backoff.cap', '9s', 'a.test, line 5']);
    expect(columnsOf(out, 'concurrency')).toEqual(['concurrency', '2', 'file, line 2']);
    expect(columnsOf(out, 'backoff.base')).toEqual(['backoff.base', '1s', 'preset strict-budget']);
  });

  test('shows the scope of a group, and the fields of a switched-off group not at all', async () => {
    const { out } = await policy(['check', good, '--url', 'b.shop.test']);
    expect(out).toContain('throttled as shop');
    expect(columnsOf(out, 'ramp')).toEqual(['ramp', 'on', 'group shop, line 3']);
    expect(columnsOf(out, 'ramp.start')).toEqual(['ramp.start', '0.25', 'preset balanced']);
    const whole = (await policy(['check', good])).out;
    expect(columnsOf(whole, 'ramp')).toEqual(['ramp', 'off', 'preset strict-budget']);
    expect(whole).not.toContain('ramp.start');
    expect(whole).not.toContain('throttled as');
  });

  test('lists everything wrong and exits with 1', async () => {
    const { out, error, exitCode } = await policy(['check', bad]);
    expect([out, exitCode]).toEqual(['', 1]);
    expect(error.split('\n')).toEqual([
      `error ${bad}:1: concurrency: 0 must be a whole number from 1 to 1000`,
      `error ${bad}:2: retries: is not a known key`,
      '',
      '2 problems; the policy is not usable',
      '',
    ]);
  });

  test('says the same as JSON', async () => {
    const valid = JSON.parse((await policy(['check', good, '--url', 'a.test', '--json'])).out) as unknown;
    expect(valid).toMatchObject({
      valid: true,
      hostKey: 'a.test',
      preset: 'strict-budget',
      values: { 'backoff.cap': { value: '9s', from: 'a.test', line: 5 } },
      policy: { concurrency: 2, backoff: { capMs: 9000 } },
      settings: { robotsException: null },
    });
    const refused = await policy(['check', bad, '--json']);
    expect(refused.exitCode).toBe(1);
    expect(JSON.parse(refused.out)).toMatchObject({
      valid: false,
      problems: [
        { file: bad, line: 1, key: 'concurrency', value: '0' },
        { line: 2, key: 'retries' },
      ],
    });
  });

  test.for([
    ['/nowhere/at/all', []],
    ['good', ['--url', 'http://./']],
    ['good', ['--url', '']],
  ] as const)('%s %j cannot be shown', async ([path, flags]) => {
    for (const json of [[], ['--json']]) {
      const { exitCode } = await policy(['check', path === 'good' ? good : path, ...flags, ...json]);
      expect(exitCode).toBe(1);
    }
  });
});

test('holdoff policy schema prints the JSON Schema', async () => {
  const { out } = await policy(['schema']);
  expect(JSON.parse(out)).toMatchObject({ type: 'object', title: 'Holdoff policy file' });
});
