import { mkdir, open, readFile, realpath, unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';

export class DataFolderInUse extends Error {
  readonly code = 'DATA_FOLDER_IN_USE';

  constructor(folder: string, pid: number) {
    super(`another run is using ${folder} (process ${pid}); wait for it, or name another folder with --data`);
    this.name = 'DataFolderInUse';
  }
}

/** The folder of a one-machine run: the store's data, the logs, and a lock, since two stores would spoil one folder. */
export interface DataFolder {
  readonly path: string;
  readonly logs: string;
  startRedis(): Promise<LocalRedis>;
  release(): Promise<void>;
}

export async function openDataFolder(folder: string, searchPath: string): Promise<DataFolder> {
  await mkdir(join(folder, 'logs'), { recursive: true });
  // Redis names its folder without symbolic links, and is compared with ours by that name.
  const path = await realpath(folder);
  const lock = join(path, 'lock');
  const store = join(path, 'redis');
  const portFile = join(path, 'redis.port');
  const logs = join(path, 'logs');
  await takeLock(lock, path);
  return {
    path,
    logs,
    async startRedis() {
      await endLeftOver(portFile, store);
      const redis = await startLocalRedis({ searchPath, dataDir: store, persistent: true });
      await writeFile(portFile, String(redis.port));
      return redis;
    },
    async release() {
      await unlink(portFile).catch(() => undefined);
      await unlink(lock).catch(() => undefined);
    },
  };
}

async function takeLock(lock: string, folder: string): Promise<void> {
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      const file = await open(lock, 'wx');
      await file.writeFile(String(process.pid));
      await file.close();
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
      const holder = Number(await readFile(lock, 'utf8').catch(() => '0'));
      if (holder > 0 && isAlive(holder)) throw new DataFolderInUse(folder, holder);
      // Left by a run that was killed.
      await unlink(lock).catch(() => undefined);
    }
  }
  throw new DataFolderInUse(folder, 0);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** A run that was killed leaves its store running. It is asked to save and end, if it really is the one of this folder. */
async function endLeftOver(portFile: string, store: string): Promise<void> {
  const port = Number(await readFile(portFile, 'utf8').catch(() => '0'));
  if (!(port > 0)) return;
  const redis = new Redis({
    host: '127.0.0.1',
    port,
    lazyConnect: true,
    retryStrategy: () => null,
    commandTimeout: 5_000,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    const [, dir] = (await redis.config('GET', 'dir')) as [string, string];
    if (resolve(dir) === store) await redis.shutdown().catch(() => undefined);
  } catch {
    // Nothing answers there, or something else does: not ours to end.
  } finally {
    redis.disconnect();
  }
}
