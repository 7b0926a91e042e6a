import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type DataFolder, DataFolderInUse, openDataFolder } from '../run/data-folder.ts';

const DEFAULT_URL = 'redis://127.0.0.1:6379';

export interface FoundFleet {
  readonly url: string;
  /** What to tell the user about where the answer comes from; null: nothing. */
  readonly note: string | null;
  /** Ends what was started for the look. */
  leave(): Promise<void>;
}

/**
 * The Redis that an operator means: the one that is named, else that of the run in the data folder, else the usual
 * one of this machine. A run that has ended has left its store in the folder: it is started for the look, and the
 * folder is locked meanwhile.
 */
export async function findFleet(
  where: { readonly redis?: string; readonly data: string },
  searchPath: string,
): Promise<FoundFleet> {
  if (where.redis !== undefined) return plain(where.redis);
  if (!(await isFolder(join(where.data, 'redis')))) return plain(DEFAULT_URL);
  let folder: DataFolder;
  try {
    folder = await openDataFolder(where.data, searchPath);
  } catch (error) {
    if (!(error instanceof DataFolderInUse)) throw error;
    // A run is going on. One that was given a Redis has no port of its own.
    const port = Number(await readFile(join(where.data, 'redis.port'), 'utf8').catch(() => '0'));
    return plain(port > 0 ? `redis://127.0.0.1:${port}` : DEFAULT_URL);
  }
  try {
    const redis = await folder.startRedis();
    return {
      url: redis.url,
      note: `(the run in ${where.data}, which has ended; --redis names another fleet)`,
      async leave() {
        await redis.stop();
        await folder.release();
      },
    };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

function plain(url: string): FoundFleet {
  return { url, note: null, leave: () => Promise.resolve() };
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
