import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readProxyPools } from './read-proxy-pools.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-pools-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(content: unknown): Promise<Awaited<ReturnType<typeof readProxyPools>>> {
  const path = join(folder, 'proxies.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return readProxyPools(path, { LOGIN: 'me:s3cret' });
}

test('pools, their proxies and credentials by reference', async () => {
  const { pools, proxies } = await read({
    residential: {
      sticky: 'job',
      proxies: [
        { name: 'p1', url: 'http://proxy.test:8080', credentials: { variable: 'LOGIN' } },
        { name: 'p2', url: 'socks5://proxy.test', resolve: 'proxy', connectMs: 5_000 },
      ],
    },
    office: { proxies: [{ name: 'p3', url: 'https://proxy.test' }] },
  });
  expect(pools.get('residential')).toEqual({ sticky: 'job', proxies: ['p1', 'p2'] });
  expect(pools.get('office')).toEqual({ sticky: 'none', proxies: ['p3'] });
  expect(proxies).toMatchObject([
    { name: 'p1', kind: 'http', secure: false, port: 8080, credentials: { user: 'me', password: 's3cret' } },
    { name: 'p2', kind: 'socks5', port: 1080, resolve: 'proxy', credentials: null, connectMs: 5_000 },
    { name: 'p3', kind: 'http', secure: true, port: 443, resolve: 'here' },
  ]);
});

test('no file is no proxies', async () => {
  expect((await readProxyPools('', {})).pools.size).toBe(0);
});

test.each<[string, unknown]>([
  ['not JSON', '{s3cret'],
  ['not pools', ['s3cret']],
  ['an empty pool', { a: { proxies: [] } }],
  ['an unknown field', { a: { proxies: [{ name: 'p1', url: 'http://p.test', password: 's3cret' }] } }],
  ['a secret in the url', { a: { proxies: [{ name: 'p1', url: 'http://me:s3cret@p.test' }] } }],
  [
    'two of one name',
    {
      a: {
        proxies: [
          { name: 's3', url: 'http://p.test' },
          { name: 's3', url: 'http://q.test' },
        ],
      },
    },
  ],
])('%s is an error that names the file and no secret', async (_, content) => {
  const error = await read(content).then(
    () => '',
    (failure: unknown) => String(failure),
  );
  expect(error).toMatch(/PROXIES_FILE|proxy p1/u);
  expect(error).not.toContain('s3cret');
});

test('a file that is not there', async () => {
  await expect(readProxyPools(join(folder, 'none.json'), {})).rejects.toThrow('cannot be read: ENOENT');
});
