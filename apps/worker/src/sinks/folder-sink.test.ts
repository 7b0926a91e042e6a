import { execFileSync } from 'node:child_process';
import { appendFile, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeliveryFault } from '../deliver-result.ts';
import { endedUrl as ended, page } from '../testing/ended-url.ts';
import { createFolderSink } from './folder-sink.ts';
import { LOOKED_BACK_BYTES, RecentKeys } from './recent-keys.ts';

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

test('an end that is handed over again after a crash is written once, whichever attempt it comes from', async () => {
  const one = await createFolderSink(folder);
  await one.deliver(ended('a', { attempts: 1 }), page(Buffer.from('hello')));
  await one.deliver(ended('b', { attempts: 2 }), page(Buffer.from('hello')));
  await one.close();
  const other = await createFolderSink(folder);
  await other.deliver(ended('a', { attempts: 2 }), page(Buffer.from('changed')), true);
  await other.deliver(ended('b', { attempts: 0, status: 0 }), page(new Uint8Array()), true);
  await other.deliver(ended('c', { attempts: 3, data: { key: 'd' } }), page(new Uint8Array()), true);
  await other.deliver(ended('d', { attempts: 3 }), page(new Uint8Array()), true);
  await other.close();
  expect((await lines()).map((line) => line.key)).toEqual(['a', 'b', 'c', 'd']);
});

test('half a line is no line: the result behind it is written', async () => {
  const path = join(folder, 'results.jsonl');
  const whole = JSON.stringify(ended('a', { attempts: 2 }));
  await writeFile(path, whole.slice(0, -10));
  const sink = await createFolderSink(folder);
  await sink.deliver(ended('a', { attempts: 2 }), page(new Uint8Array()), true);
  await sink.deliver(ended('a', { attempts: 2 }), page(new Uint8Array()), true);
  await sink.close();
  const text = await readFile(path, 'utf8');
  expect(text.split('\n').map((line) => line.endsWith('}'))).toEqual([false, true, false]);
});

test('of a long file only the end is looked at', async () => {
  const path = join(folder, 'results.jsonl');
  await writeFile(path, `${JSON.stringify({ key: 'old' })}\n`);
  const filler = `${JSON.stringify({ key: 'x', detail: 'y'.repeat(1_000_000) })}\n`;
  for (let bytes = 0; bytes < LOOKED_BACK_BYTES; bytes += filler.length) await appendFile(path, filler);
  await appendFile(path, `${JSON.stringify({ key: 'new' })}\n`);
  const recent = new RecentKeys(path);
  expect(await recent.has('old')).toBe(false);
  expect(await recent.has('new')).toBe(true);
  // What others add is found, also when a line comes in two pieces.
  await appendFile(path, '{"key":"la');
  expect(await recent.has('later')).toBe(false);
  await appendFile(path, 'ter"}\n');
  expect(await recent.has('later')).toBe(true);
  await writeFile(path, `${JSON.stringify({ key: 'anew' })}\n`);
  expect(await recent.has('anew')).toBe(true);
  expect(await new RecentKeys(join(folder, 'nowhere')).has('new')).toBe(false);
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
