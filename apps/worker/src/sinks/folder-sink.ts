import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DeliveryFault, type DeliveredPage, type EndedUrl, type Sink } from '../deliver-result.ts';
import { AppendLog } from './append-log.ts';
import { probeFolder } from './probe-folder.ts';
import { RecentKeys } from './recent-keys.ts';

/**
 * A folder: `results.jsonl` with one line per ended URL, and `bodies/ab/abcdef…` named by the SHA-256 of the
 * content. A body is written aside, synced and renamed before its line is written, so a line never points at
 * half a body. No name comes from a URL or a header. Without `sync` the order is the same, but a power failure (not
 * a killed process) can lose what was delivered in the last seconds.
 */
export async function createFolderSink(folder: string, sync = true): Promise<Sink> {
  await mkdir(join(folder, 'bodies'), { recursive: true });
  const lines = join(folder, 'results.jsonl');
  const log = new AppendLog(lines, sync);
  const recent = new RecentKeys(lines);
  return {
    name: `folder ${folder}`,
    async deliver(ended: EndedUrl, { body }: DeliveredPage, again = false): Promise<void> {
      try {
        // A worker that died after its line was written leaves its job to another one, which ends it again; and where
        // another place did not take it, or a write was reported late, the line may be here already.
        if (again && (await recent.has(ended.key))) return;
        const bodyFile = body.length === 0 ? null : await storeBody(folder, body, sync);
        await log.append(JSON.stringify({ ...ended, bodyFile }));
      } catch (error) {
        throw new DeliveryFault(`folder ${folder}`, error);
      }
    },
    probe: () => probeFolder(folder),
    close: () => log.close(),
  };
}

/**
 * Returns the body's path relative to the folder. The same content has one file: writing it again replaces it by
 * itself, which costs less than asking each time whether it is there.
 */
async function storeBody(folder: string, body: Uint8Array, sync: boolean): Promise<string> {
  const digest = createHash('sha256').update(body).digest('hex');
  const relative = join('bodies', digest.slice(0, 2), digest);
  const target = join(folder, relative);
  const aside = `${target}.${randomUUID()}.part`;
  const file = await createAside(aside);
  try {
    await file.writeFile(body);
    if (sync) await file.datasync();
  } catch (error) {
    await file.close();
    await unlink(aside).catch(() => undefined);
    throw error;
  }
  await file.close();
  await rename(aside, target).catch(async (error: unknown) => {
    await unlink(aside).catch(() => undefined);
    throw error;
  });
  return relative;
}

/** Makes the folder only when it is missing: there are 256 of them and any number of bodies. */
async function createAside(path: string): Promise<FileHandle> {
  // O_EXCL and O_NOFOLLOW: never through a link that somebody planted.
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  try {
    return await open(path, flags, 0o644);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await mkdir(dirname(path), { recursive: true });
    return open(path, flags, 0o644);
  }
}
