import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readUrlLists, UrlListFault } from './read-url-list.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-list-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function read(names: string[], input = ''): Promise<{ place: string; text: string }[]> {
  const lines = [];
  for await (const line of readUrlLists(names, Readable.from([Buffer.from(input)]))) lines.push(line);
  return lines;
}

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test('takes URLs as arguments, files and standard input together, and says where each stands', async () => {
  const path = await file(
    'a.txt',
    'https://a.test/1\n\n# a comment\n  https://a.test/2  \r\nhttps://a.test/3',
  );
  expect(await read(['https://b.test/', path, '-'], 'https://c.test/\n')).toEqual([
    { place: 'argument 1', text: 'https://b.test/' },
    { place: `${path}:1`, text: 'https://a.test/1' },
    { place: `${path}:4`, text: 'https://a.test/2' },
    { place: `${path}:5`, text: 'https://a.test/3' },
    { place: 'standard input:1', text: 'https://c.test/' },
  ]);
});

test('a character split over two chunks stays whole', async () => {
  const bytes = Buffer.from('https://a.test/é\n');
  const lines = [];
  for await (const line of readUrlLists(['-'], Readable.from([bytes.subarray(0, 16), bytes.subarray(16)])))
    lines.push(line.text);
  expect(lines).toEqual(['https://a.test/é']);
});

test.each([
  ['a file that is not there', async () => join(folder, 'none.txt'), /no such file: .*none\.txt/],
  ['a folder', async () => folder, /is a folder/],
  [
    'a binary file',
    () => file('b.bin', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe])),
    /not a text file/,
  ],
  ['a NUL byte', () => file('n.txt', 'https://a.test/\nhttp://b\0.test/'), /line 2 has a NUL byte/],
  [
    'a line of 1 MB',
    () => file('l.txt', `https://a.test/\n${'x'.repeat(1_000_000)}`),
    /line 2 is longer than 64 KiB/,
  ],
])('%s is one clear fault', async (_name, path, message) => {
  const reading = read([await path()]);
  await expect(reading).rejects.toBeInstanceOf(UrlListFault);
  await expect(read([await path()])).rejects.toThrow(message);
});
