import { gzipSync } from 'node:zlib';
import { PRESETS } from '@holdoff/throttle-core';
import { expect, test } from 'vitest';
import { readSitemap } from './read-sitemap.ts';

const { body: limits } = PRESETS.balanced;
const job = { url: 'https://www.a.test/sitemap.xml.gz', reads: 'sitemap' } as const;
const read = (body: string | Uint8Array, over: object = {}) =>
  readSitemap(
    { ...job, ...over },
    'https://a.test/s.xml',
    typeof body === 'string' ? Buffer.from(body) : body,
    limits,
  );
const urlset = (...locations: string[]): string =>
  `<urlset>${locations.map((at) => `<url><loc>${at}</loc></url>`).join('')}</urlset>`;
const INDEX = '<sitemapindex><sitemap><loc>https://a.test/1.xml</loc></sitemap></sitemapindex>';

test('the pages of its own host are to be fetched, each once; those of others are left out and counted', async () => {
  const text = urlset(
    'https://a.test/1',
    'https://www.a.test/2',
    'https://a.test/1',
    'https://evil.test/',
    'http://127.0.0.1/',
    '/3',
    'javascript:1',
  );
  expect(await read(text)).toEqual({
    kind: 'useful',
    data: '{"sitemap":"urls","entries":7,"followed":3}',
    follow: ['https://a.test/1', 'https://www.a.test/2', '/3'],
  });
});

test('an index names sitemaps, which are no pages', async () => {
  expect(await read(INDEX)).toMatchObject({ follow: ['https://a.test/1.xml'], followAs: 'sitemap_part' });
});

test('an index inside an index ends there', async () => {
  expect(await read(INDEX, { reads: 'sitemap_part' })).toMatchObject({
    kind: 'bad',
    fault: expect.stringContaining('index inside an index') as string,
  });
});

test('a gzip file is unpacked', async () => {
  expect(await read(gzipSync(urlset('https://a.test/1')))).toMatchObject({ follow: ['https://a.test/1'] });
});

test.each([
  ['a bomb', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
  ['one that is cut off', gzipSync(urlset('https://a.test/1')).subarray(0, 20)],
  ['one that is broken', Uint8Array.from([0x1f, 0x8b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])],
])('%s in gzip is refused', async (_, body) => {
  expect(await read(body)).toMatchObject({ kind: 'bad', fault: expect.stringContaining('gzip') as string });
});
