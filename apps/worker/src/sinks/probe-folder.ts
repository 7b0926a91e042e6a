import { randomUUID } from 'node:crypto';
import { open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** More than the last free block of a full disk. */
const PROBE_BYTES = 64 * 1024;

/** Writes and removes a file of a few blocks: a disk that is full or read-only refuses it. */
export async function probeFolder(folder: string): Promise<void> {
  const path = join(folder, `.probe-${randomUUID()}`);
  const file = await open(path, 'wx', 0o644);
  try {
    await file.writeFile(new Uint8Array(PROBE_BYTES));
    await file.datasync();
  } finally {
    await file.close();
    await unlink(path).catch(() => undefined);
  }
}
