import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeliveryFault } from '../deliver-result.ts';
import { endedUrl as ended, page } from '../testing/ended-url.ts';
import { createFolderSink } from './folder-sink.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-sink-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function lines(): Promise<{ key: string; bodyFile: string | null }[]> {
  const text = await readFile(join(folder, 'results.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { key: string; bodyFile: string | null });
}

test('a result is one line, and its body lies where the line says', async () => {
  const sink = await createFolderSink(folder);
  await sink.deliver(ended('a'), page(Buffer.from('hello')));
  await sink.close();
  const [line] = await lines();
  expect(line?.bodyFile).toMatch(/^bodies\/[0-9a-f]{2}\/[0-9a-f]{64}$/);
  expect(await readFile(join(folder, line?.bodyFile ?? ''), 'utf8')).toBe('hello');
});

test('1,000 results written at once are 1,000 whole lines, and the same body is stored once', async () => {
  const sink = await createFolderSink(folder);
  await Promise.all(
    Array.from({ length: 1_000 }, (_, n) => sink.deliver(ended(`k${n}`), page(Buffer.from('same')))),
  );
  await sink.close();
  expect(new Set((await lines()).map((line) => line.key)).size).toBe(1_000);
  const stored = await readdir(join(folder, 'bodies'), { recursive: true });
  expect(stored.filter((name) => name.length > 3)).toHaveLength(1);
});

test('a result without a body has no body file', async () => {
  const sink = await createFolderSink(folder);
  await sink.deliver(ended('a'), page(new Uint8Array()));
  await sink.close();
  expect((await lines())[0]?.bodyFile).toBeNull();
});

test('a folder that cannot be written is a delivery fault, names the folder, and heals', async () => {
  const sink = await createFolderSink(folder);
  await rm(folder, { recursive: true });
  await expect(sink.deliver(ended('a'), page(new Uint8Array()))).rejects.toBeInstanceOf(DeliveryFault);
  execFileSync('mkdir', ['-p', join(folder, 'bodies')]);
  await sink.deliver(ended('b'), page(new Uint8Array()));
  await sink.close();
  expect((await lines()).map((line) => line.key)).toEqual(['b']);
});
