import { execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DeliveryFault, type Sink } from '../deliver-result.ts';
import { endedUrl, page } from '../testing/ended-url.ts';
import { readWarc } from '../testing/read-warc.ts';
import { createFolderSink } from './folder-sink.ts';
import { createWarcSink } from './warc-sink.ts';

/** A real small disk; a mount needs root, which the machines that decide about a change run as. */
const isRoot = process.getuid?.() === 0;

let disk = '';
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'holdoff-disk-'));
  if (isRoot) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
});
afterEach(async () => {
  if (isRoot) execFileSync('umount', [disk]);
  await rm(disk, { recursive: true, force: true });
});

/** Leaves `spareBytes` on the disk. */
async function fill(spareBytes: number): Promise<void> {
  const path = join(disk, 'filler');
  await writeFile(path, new Uint8Array(256 * 1024)).catch(() => undefined);
  const { size } = await stat(path);
  await writeFile(path, new Uint8Array(Math.max(0, size - spareBytes)));
}

/** The keys that were accepted before the disk was full, and what was said then. */
async function deliverUntilFull(
  sink: Sink,
): Promise<{ readonly safe: readonly string[]; readonly fault: unknown }> {
  const safe: string[] = [];
  for (let n = 0; n < 1_000; n += 1) {
    const ended = endedUrl(`k${n}`, { detail: `line ${n} ${'.'.repeat(700)}` });
    const fault: unknown = await sink.deliver(ended, page(new Uint8Array())).then(
      () => null,
      (error: unknown) => error,
    );
    if (fault !== null) return { safe, fault };
    safe.push(ended.key);
  }
  throw new Error('the disk was never full');
}

describe.runIf(isRoot)('a disk that fills up', () => {
  test('folder: every result that was accepted is a whole line, and writing goes on when there is room', async () => {
    const sink = await createFolderSink(disk);
    await fill(16 * 1024);
    const { safe, fault } = await deliverUntilFull(sink);
    expect(fault).toBeInstanceOf(DeliveryFault);
    expect(String(fault)).toContain('ENOSPC');
    await expect(sink.probe()).rejects.toMatchObject({ code: 'ENOSPC' });

    await rm(join(disk, 'filler'));
    await sink.probe();
    await sink.deliver(endedUrl('later'), page(Buffer.from('hello')));
    await sink.close();
    const lines = (await readFile(join(disk, 'results.jsonl'), 'utf8')).split('\n');
    const keys = lines.flatMap((line) => {
      try {
        return [(JSON.parse(line) as { key: string }).key];
      } catch {
        return [];
      }
    });
    expect(keys).toEqual([...safe, 'later']);
    expect(lines.length - keys.length, 'torn or empty lines').toBeLessThanOrEqual(2);
    expect((await readdir(disk)).filter((name) => name.includes('probe'))).toEqual([]);
  });

  test('WARC: the file is cut back to whole records, and writing goes on when there is room', async () => {
    const sink = await createWarcSink({
      folder: disk,
      workerId: 'w',
      userAgent: 'test',
      fileBytesMax: 1e9,
      wallMs: Date.now,
    });
    await fill(16 * 1024);
    const { safe, fault } = await deliverUntilFull(sink);
    expect(fault).toBeInstanceOf(DeliveryFault);
    expect(String(fault)).toContain('ENOSPC');
    await expect(sink.probe()).rejects.toMatchObject({ code: 'ENOSPC' });

    await rm(join(disk, 'filler'));
    await sink.probe();
    await sink.deliver(endedUrl('later'), page(Buffer.from('hello')));
    await sink.close();
    const [file] = (await readdir(disk)).filter((name) => name.endsWith('.warc.gz'));
    const records = await readWarc(join(disk, file ?? ''));
    expect(records.filter(({ type }) => type === 'metadata').map(({ key }) => key)).toEqual([
      ...safe,
      'later',
    ]);
  });
});

test('a device that never has room is a delivery fault with its code, also without root', async () => {
  const sink = await createFolderSink(disk);
  await symlink('/dev/full', join(disk, 'results.jsonl'));
  const fault = sink.deliver(endedUrl('a'), page(Buffer.from('hello')));
  await expect(fault).rejects.toBeInstanceOf(DeliveryFault);
  await expect(fault).rejects.toThrow('ENOSPC');
  await sink.close();
});
