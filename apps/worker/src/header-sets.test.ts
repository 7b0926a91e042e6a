import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readHeaderSets } from './header-sets.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-headers-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function read(content: string): Promise<ReadonlyMap<string, unknown>> {
  const path = join(folder, 'sets.json');
  await writeFile(path, content);
  return readHeaderSets(path);
}

test('sets are found by name, header names lower-cased', async () => {
  expect((await read('{"partner":{"X-Api-Key":"k"}}')).get('partner')).toEqual({ 'x-api-key': 'k' });
});

test('no file is no set', async () => {
  expect((await readHeaderSets('')).size).toBe(0);
});

test.each([
  ['a missing file', '', /cannot be read/],
  ['text', 'hello', /is not JSON/],
  ['a Host header', '{"p":{"Host":"a.test"}}', /p\.Host/],
  ['a line break in a value', '{"p":{"x":"a\\r\\nb: c"}}', /p\.x/],
  ['a line break in a name', '{"p":{"x\\r\\ny":"a"}}', /p\./],
])('%s is refused by name', async (_name, content, message) => {
  const reading = content === '' ? readHeaderSets(join(folder, 'none.json')) : read(content);
  await expect(reading).rejects.toThrow(message);
});

test('a fault never shows a value', async () => {
  await expect(read('{"p":{"authorization":"s3cret\\u0000"}}')).rejects.not.toThrow(/s3cret/);
});
