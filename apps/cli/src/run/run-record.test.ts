import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listKeyOf, RunRecords } from './run-record.ts';

const NOON = new Date('2026-01-15T12:00:00Z');
const EVENING = new Date('2026-01-15T18:30:05Z');
const KEY = listKeyOf(['https://a.example/', 'https://b.example/']);

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-records-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a list has one key, whatever its order and repetitions', () => {
  expect(listKeyOf(['https://b.example/', 'https://a.example/', 'https://b.example/'])).toBe(KEY);
  expect(listKeyOf(['https://a.example/', 'https://c.example/'])).not.toBe(KEY);
  // Two lists whose joined text is the same are not the same list.
  expect(listKeyOf(['ab', 'c'])).not.toBe(listKeyOf(['a', 'bc']));
});

test('an unfinished run goes on, a finished one is followed by a new one', async () => {
  const first = await new RunRecords(folder).begin(KEY, NOON);
  expect(first).toEqual({ batch: `run-20260115-120000-${KEY.slice(0, 6)}`, resumed: false });
  expect(await new RunRecords(folder).begin(KEY, EVENING)).toEqual({ batch: first.batch, resumed: true });
  await new RunRecords(folder).finish(KEY);
  const next = await new RunRecords(folder).begin(KEY, EVENING);
  expect(next).toEqual({ batch: `run-20260115-183005-${KEY.slice(0, 6)}`, resumed: false });
});

test('lists know nothing of each other', async () => {
  const records = new RunRecords(folder);
  const other = listKeyOf(['https://other.example/']);
  await records.begin(KEY, NOON);
  expect((await records.begin(other, NOON)).resumed).toBe(false);
  await records.finish(other);
  expect((await records.begin(KEY, EVENING)).resumed).toBe(true);
});

test.each(['', '{"torn', '[]', '{"k":{"batch":7}}'])(
  'a file that says %j is as good as none',
  async (text) => {
    await writeFile(join(folder, 'runs.json'), text);
    expect((await new RunRecords(folder).begin(KEY, NOON)).resumed).toBe(false);
    expect((await new RunRecords(folder).begin(KEY, EVENING)).resumed).toBe(true);
    expect(await readdir(folder)).toEqual(['runs.json']);
  },
);
