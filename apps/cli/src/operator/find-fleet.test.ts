import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDataFolder } from '../run/data-folder.ts';
import { findFleet } from './find-fleet.ts';

const searchPath = process.env['PATH'] ?? '';
let data = '';
beforeEach(async () => {
  data = await mkdtemp(join(tmpdir(), 'holdoff-find-'));
});
afterEach(() => rm(data, { recursive: true, force: true }));

test('a Redis that is named is taken, whatever lies in the data folder', async () => {
  await mkdir(join(data, 'redis'));
  const found = await findFleet({ redis: 'redis://10.0.0.1:6380', data }, searchPath);
  expect(found).toMatchObject({ url: 'redis://10.0.0.1:6380', note: null });
});

test('without a run in the folder it is the usual Redis of this machine, and nothing is created', async () => {
  const absent = join(data, 'none');
  expect(await findFleet({ data: absent }, searchPath)).toMatchObject({ url: 'redis://127.0.0.1:6379' });
  await expect(stat(absent)).rejects.toThrow('ENOENT');
});

test('a run that goes on is found by its port', async () => {
  await mkdir(join(data, 'redis'));
  await writeFile(join(data, 'lock'), String(process.pid));
  await writeFile(join(data, 'redis.port'), '34567');
  expect(await findFleet({ data }, searchPath)).toMatchObject({ url: 'redis://127.0.0.1:34567', note: null });
});

test('a run that was given a Redis has none in the folder, so the usual one is taken', async () => {
  await mkdir(join(data, 'redis'));
  await writeFile(join(data, 'lock'), String(process.pid));
  expect(await findFleet({ data }, searchPath)).toMatchObject({ url: 'redis://127.0.0.1:6379' });
});

test('the store of a run that has ended is started for the look, and the folder is free again after it', async () => {
  const run = await openDataFolder(data, searchPath);
  const store = await run.startRedis();
  await put(store.url, 'key', 'kept');
  await store.stop();
  await run.release();

  const found = await findFleet({ data }, searchPath);
  expect(found.note).toContain('has ended');
  expect(await get(found.url, 'key')).toBe('kept');
  await expect(openDataFolder(data, searchPath)).rejects.toThrow('another run is using');
  await found.leave();
  await expect(get(found.url, 'key')).rejects.toThrow('Connection is closed');
  await (await openDataFolder(data, searchPath)).release();
});

async function put(url: string, key: string, value: string): Promise<void> {
  const redis = client(url);
  await redis.connect();
  await redis.set(key, value);
  redis.disconnect();
}

async function get(url: string, key: string): Promise<string | null> {
  const redis = client(url);
  try {
    await redis.connect();
    return await redis.get(key);
  } finally {
    redis.disconnect();
  }
}

function client(url: string): Redis {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  return redis;
}
