import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { extractFields } from './extract-fields.ts';
import { type ExtractionRules, readExtractionRules } from './extraction-rules.ts';
import { handlerInput } from './handler-page.ts';
import { HandlerPool } from './handler-pool.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-extract-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function rulesOf(text: string): Promise<ExtractionRules> {
  const path = join(folder, 'rules.yaml');
  await writeFile(path, text);
  return readExtractionRules(path);
}

const PAGE = `<html><head><title> A  shop
  </title></head><body>
  <h1>Chairs</h1><a href="/chair/1" class=item>One</a><a href="chair/2" class=item>Two</a>
  <a class=item>No link</a><img src="//cdn.test/a.png" data-id="7">`;
const page = (body: string, contentType: string | null = 'text/html; charset=utf-8') =>
  handlerInput({
    url: 'https://shop.test/',
    finalUrl: 'https://shop.test/list/',
    status: 200,
    headers: {},
    contentType,
    body: Buffer.from(body),
  });

const RULES = `
title: { selector: title }
links: { selector: a.item, attribute: href, all: true }
names: { selector: a.item, all: true }
image: { selector: img, attribute: src }
id: { selector: img, attribute: data-id }
absent: { selector: .price }
none: { selector: .price, all: true }
`;

test('fields are text or attributes, the first or all; addresses are whole', async () => {
  expect(extractFields(await rulesOf(RULES), page(PAGE))).toEqual({
    kind: 'useful',
    data: {
      title: 'A shop',
      links: ['https://shop.test/chair/1', 'https://shop.test/list/chair/2'],
      names: ['One', 'Two', 'No link'],
      image: 'https://cdn.test/a.png',
      id: '7',
      absent: null,
      none: [],
    },
  });
});

test("addresses are relative to the page's own base where it names one", async () => {
  const rules = await rulesOf('link: { selector: a, attribute: href }');
  const found = extractFields(rules, page('<base href="https://other.test/x/"><a href="y">'));
  expect(found).toMatchObject({ data: { link: 'https://other.test/x/y' } });
});

test.each([
  ['JSON', 'application/json', 'neither HTML nor XML'],
  ['an image', 'image/png', 'neither HTML nor XML'],
  ['a page without any of the fields', 'text/html', 'no field of the extraction matched'],
])('%s is not useful, and why is said', async (_, contentType, reason) => {
  const rules = await rulesOf('price: { selector: .price }');
  expect(extractFields(rules, page('{}', contentType))).toEqual({ kind: 'not_useful', reason });
});

test('XML keeps the case of its names', async () => {
  const rules = await rulesOf('links: { selector: "item > linkTo", all: true }');
  const feed = '<?xml version="1.0"?><rss><item><linkTo>https://a.test/</linkTo></item></rss>';
  expect(extractFields(rules, page(feed, 'application/rss+xml'))).toMatchObject({
    data: { links: ['https://a.test/'] },
  });
});

test.each([
  ['no fields', '{}', '1 to 100 fields'],
  ['a list', '- a', 'EXTRACT'],
  ['an unknown key', 'a: { selector: b, atribute: c }', 'atribute'],
  ['no selector', 'a: {}', 'a.selector'],
  ['a bad field name', '"a b": { selector: c }', 'EXTRACT'],
  ['no YAML', 'a: [', 'cannot be read'],
])('a file with %s is refused with the place', async (_, text, part) => {
  await expect(rulesOf(text)).rejects.toThrow(part);
});

test('a selector that is none is known at the start', async () => {
  const rules = await rulesOf('a: { selector: "b[" }');
  const options = { source: { kind: 'extraction', rules }, threads: 1, memoryMiB: 64 } as const;
  await expect(HandlerPool.start(options)).rejects.toThrow('a.selector: b[: ');
});

test('it runs in a thread like any handler', async () => {
  const rules = await rulesOf('title: { selector: title }');
  const pool = await HandlerPool.start({ source: { kind: 'extraction', rules }, threads: 1, memoryMiB: 64 });
  const { text: _, ...plain } = page(PAGE);
  const reply = await pool.run(plain, 20_000, new AbortController().signal);
  await pool.close();
  expect(reply).toEqual({ kind: 'useful', data: '{"title":"A shop"}', follow: [] });
});
