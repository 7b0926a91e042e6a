import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AppendLog } from './append-log.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-log-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('a line after half a line of a killed process is a line of its own', async () => {
  const path = join(folder, 'log');
  await appendFile(path, '{"key":"a"}\n{"key":"b');
  const log = new AppendLog(path);
  await log.append('{"key":"c"}');
  await log.close();
  expect(await readFile(path, 'utf8')).toBe('{"key":"a"}\n{"key":"b\n{"key":"c"}\n');
});

test('a line that is appended the moment the one before is safe is not forgotten', async () => {
  const log = new AppendLog(join(folder, 'log'));
  for (let n = 0; n < 50; n += 1) await log.append(String(n));
  // In the turn in which the earlier append resolves, without an await in between.
  await log.append('x').then(() => log.append('y'));
  await log.close();
  const lines = (await readFile(join(folder, 'log'), 'utf8')).trimEnd().split('\n');
  expect(lines).toHaveLength(52);
});
