import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandRun, runCommandForTest } from '../testing/run-command.ts';
import { scheduleCommand } from './schedule.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-schedule-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function check(text: string, ...args: string[]): Promise<CommandRun> {
  const path = join(folder, 's.yaml');
  await writeFile(path, text);
  return runCommandForTest(scheduleCommand, ['check', path, ...args]);
}

const NIGHTLY =
  'schedules:\n  - { name: nightly, cron: 30 2 * * *, zone: Europe/Berlin, urls: [https://a.test/] }\n';

test('prints the next three firings, at home and in UTC, with the batch of each', async () => {
  const { out, exitCode } = await check(NIGHTLY);
  expect(exitCode).toBe(0);
  expect(out.split('\n').slice(0, 4)).toEqual([
    'nightly',
    '  2026-01-16 02:30 Europe/Berlin  2026-01-16T01:30:00Z  nightly-20260116T0130',
    '  2026-01-17 02:30 Europe/Berlin  2026-01-17T01:30:00Z  nightly-20260117T0130',
    '  2026-01-18 02:30 Europe/Berlin  2026-01-18T01:30:00Z  nightly-20260118T0130',
  ]);
});

test('--json says the same', async () => {
  const { out } = await check(NIGHTLY, '--json');
  expect(JSON.parse(out)).toMatchObject({ schedules: [{ name: 'nightly', problem: null }] });
});

test('a list that is not there is found before its night; one with a date in its name may come later', async () => {
  const list = (path: string): string => NIGHTLY.replace('urls: [https://a.test/]', `list: "${path}"`);
  const missing = await check(list('none.txt'));
  expect(missing.exitCode).toBe(1);
  expect(missing.error).toMatch(/nightly: its list .*none\.txt cannot be read/);
  expect((await check(list('{date}.txt'))).exitCode).toBe(0);
});

test('faults are told with file, line, key, value and rule', async () => {
  const { error, exitCode, out } = await check(NIGHTLY.replace('30 2', '61 2'));
  expect(exitCode).toBe(1);
  expect(out).toBe('');
  expect(error).toMatch(/s\.yaml:2: schedules\.0\.cron: "61 2 \* \* \*" must be a cron line/);
});

test('a file that is not there is one line', async () => {
  const { error, exitCode } = await runCommandForTest(scheduleCommand, ['check', join(folder, 'none.yaml')]);
  expect(exitCode).toBe(1);
  expect(error).toMatch(/^error .*none\.yaml cannot be read \(ENOENT\)\n$/);
});
