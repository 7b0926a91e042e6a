import { expect, test } from 'vitest';
import { LOCATIONS_MAX, parseSitemap } from './parse-sitemap.ts';

const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const set = (inner: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><urlset ${NS}>${inner}</urlset>`;

test.each<[string, string, string[]]>([
  [
    'plain',
    set('<url><loc>https://a.test/1</loc></url><url><loc>https://a.test/2</loc></url>'),
    ['https://a.test/1', 'https://a.test/2'],
  ],
  [
    'white space and escapes',
    set('<url><loc>\n https://a.test/?a=1&amp;b=2 </loc></url>'),
    ['https://a.test/?a=1&b=2'],
  ],
  ['CDATA', set('<url><loc><![CDATA[https://a.test/?a&b]]></loc></url>'), ['https://a.test/?a&b']],
  [
    'other elements',
    set('<url><lastmod>2026</lastmod><loc>https://a.test/</loc><priority>1</priority></url>'),
    ['https://a.test/'],
  ],
  [
    'images are no pages',
    set(
      '<url><loc>https://a.test/</loc><image:image><image:loc>https://a.test/i.png</image:loc></image:image><image:loc>x</image:loc></url>',
    ),
    ['https://a.test/'],
  ],
  [
    'a prefix',
    `<s:urlset xmlns:s="x"><s:url><s:loc>https://a.test/</s:loc></s:url></s:urlset>`,
    ['https://a.test/'],
  ],
  ['a comment inside', set('<url><loc>https://a.test/<!-- here -->1</loc></url>'), ['https://a.test/1']],
  ['no entry', set(''), []],
  ['an empty entry', set('<url><loc> </loc></url><url/>'), []],
])('urlset: %s', async (_, text, locations) => {
  expect(await parseSitemap(bytes(text))).toEqual({ kind: 'urlset', locations });
});

test('an index names sitemaps, and nothing else in it is one', async () => {
  const text = `<sitemapindex ${NS}><sitemap><loc>https://a.test/s1.xml</loc></sitemap><url><loc>no</loc></url></sitemapindex>`;
  expect(await parseSitemap(bytes(text))).toEqual({
    kind: 'sitemapindex',
    locations: ['https://a.test/s1.xml'],
  });
});

test.each(['utf-16le', 'utf-16be'] as const)('%s by its mark', async (encoding) => {
  const text = Buffer.from(
    `\uFEFF<?xml version="1.0"?><urlset><url><loc>https://a.test/ü</loc></url></urlset>`,
    'utf16le',
  );
  if (encoding === 'utf-16be') text.swap16();
  expect(await parseSitemap(text)).toEqual({ kind: 'urlset', locations: ['https://a.test/ü'] });
});

test('latin-1 as it names it', async () => {
  const text = `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>https://a.test/ü</loc></url></urlset>`;
  expect(await parseSitemap(Buffer.from(text, 'latin1'))).toEqual({
    kind: 'urlset',
    locations: ['https://a.test/ü'],
  });
});

const BILLION_LAUGHS = `<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>`;
const OUTSIDE = `<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>`;

test.each<[string, string | Uint8Array, RegExp]>([
  ['a page', '<!doctype html><html><body>', /root is "html"/],
  ['nothing', '', /neither urlset nor sitemapindex|root/],
  ['text', 'https://a.test/\nhttps://b.test/', /./],
  ['JSON', '{"urls":[]}', /./],
  ['cut off', set('<url><loc>https://a.test/</loc></url>').slice(0, -9), /Unclosed root tag|line 1/],
  ['crossed tags', '<urlset><url><loc>x</url></loc></urlset>', /line 1/],
  ['entities that expand', BILLION_LAUGHS, /entity/i],
  ['entities from outside', OUTSIDE, /entity/i],
  ['a feed', '<rss><channel/></rss>', /root is "rss"/],
  ['bytes that are no text', new Uint8Array([0x3c, 0x75, 0xff, 0xfe, 0xc0]), /not of the encoding/],
  ['an encoding nobody knows', '<?xml version="1.0" encoding="klingon"?><urlset/>', /"klingon" is not known/],
  ['a deep one', `<urlset>${'<a>'.repeat(20)}`, /nested more than 16 deep/],
  ['a very deep one', '<a>'.repeat(200_000), /root is "a"/],
  [
    'a long address',
    set(`<url><loc>https://a.test/${'x'.repeat(9_000)}</loc></url>`),
    /more than 8192 characters/,
  ],
  ['a name without end', `<urlset><${'a'.repeat(300_000)}`, /./],
  ['a comment without end', `<urlset><!-- ${'a'.repeat(300_000)}`, /./],
  [
    'too many entries',
    set('<url><loc>https://a.test/</loc></url>'.repeat(LOCATIONS_MAX + 1)),
    /more than 50000 entries/,
  ],
])('%s is no sitemap, and says why in a line', async (_, body, fault) => {
  const read = await parseSitemap(typeof body === 'string' ? bytes(body) : body);
  expect(read.kind === 'bad' ? read.fault : read.kind).toMatch(fault);
  expect(JSON.stringify(read).length).toBeLessThan(300);
});

test('50,000 entries are read, and other work has its turn meanwhile', async () => {
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const read = await parseSitemap(
    bytes(set('<url><loc>https://a.test/page</loc></url>'.repeat(LOCATIONS_MAX))),
  );
  clearInterval(timer);
  expect(read.kind === 'urlset' ? read.locations.length : 0).toBe(LOCATIONS_MAX);
  expect(turns).toBeGreaterThan(3);
});
