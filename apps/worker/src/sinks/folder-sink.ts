import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { DeliveryFault, type EndedUrl, type Sink } from '../deliver-result.ts';
import { AppendLog } from './append-log.ts';

/** More than the last free block of a full disk. */
const PROBE_BYTES = 64 * 1024;

/**
 * A folder: `results.jsonl` with one line per ended URL, and `bodies/ab/abcdef…` named by the SHA-256 of the
 * content. A body is written aside, synced and renamed before its line is written, so a line never points at
 * half a body. No name comes from a URL or a header.
 */
export async function createFolderSink(folder: string): Promise<Sink> {
  await mkdir(join(folder, 'bodies'), { recursive: true });
  const log = new AppendLog(join(folder, 'results.jsonl'));
  return {
    name: `folder ${folder}`,
    async deliver(ended: EndedUrl, body: Uint8Array): Promise<void> {
      try {
        const bodyFile = body.length === 0 ? null : await storeBody(folder, body);
        await log.append(JSON.stringify({ ...ended, bodyFile }));
      } catch (error) {
        throw new DeliveryFault(`folder ${folder}`, error);
      }
    },
    probe: () => probeFolder(folder),
    close: () => log.close(),
  };
}

/** Writes and removes a file of a few blocks: a disk that is full or read-only refuses it. */
async function probeFolder(folder: string): Promise<void> {
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

/** Returns the body's path relative to the folder. The same content is stored once. */
async function storeBody(folder: string, body: Uint8Array): Promise<string> {
  const digest = createHash('sha256').update(body).digest('hex');
  const relative = join('bodies', digest.slice(0, 2), digest);
  const target = join(folder, relative);
  const present = await access(target).then(
    () => true,
    () => false,
  );
  if (present) return relative;

  await mkdir(join(folder, 'bodies', digest.slice(0, 2)), { recursive: true });
  const aside = `${target}.${randomUUID()}.part`;
  // O_EXCL and O_NOFOLLOW: never through a link that somebody planted.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const file = await open(aside, flags, 0o644);
  try {
    await file.writeFile(body);
    await file.datasync();
  } catch (error) {
    await file.close();
    await unlink(aside).catch(() => undefined);
    throw error;
  }
  await file.close();
  await rename(aside, target);
  return relative;
}
