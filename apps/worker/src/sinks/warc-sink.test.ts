import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Sink } from '../deliver-result.ts';
import { endedUrl, page } from '../testing/ended-url.ts';
import { readWarc } from '../testing/read-warc.ts';
import { createWarcSink } from './warc-sink.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-warc-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const open = (fileBytesMax = 1e9): Promise<Sink> =>
  createWarcSink({
    folder,
    workerId: 'w1',
    userAgent: 'Holdoff/test (+https://ops.example)',
    fileBytesMax,
    wallMs: () => Date.parse('2026-01-15T12:00:00Z'),
  });
const files = async (): Promise<string[]> => (await readdir(folder)).toSorted();

test('a result is a response, its request and the line, tied to each other', async () => {
  const sink = await open();
  const headers = {
    'content-type': ['text/html; charset=utf-8'],
    'content-encoding': ['gzip'],
    'content-length': ['31'],
    vary: ['Accept', 'Origin'],
    'set-cookie': ['session=CANARY; HttpOnly'],
  };
  await sink.deliver(
    endedUrl('j.1', { finalUrl: 'https://example.test/a?b=c' }),
    page(Buffer.from('<p>ü</p>'), headers),
  );
  expect(await files()).toEqual(['w1-20260115120000-00001.warc.gz.open']);
  await sink.close();
  expect(await files()).toEqual(['w1-20260115120000-00001.warc.gz']);

  const path = join(folder, 'w1-20260115120000-00001.warc.gz');
  const [info, response, request, metadata, ...more] = await readWarc(path);
  expect(more).toEqual([]);
  expect(info?.text).toContain('http-header-user-agent: Holdoff/test (+https://ops.example)');
  expect(response).toMatchObject({
    type: 'response',
    url: 'https://example.test/a?b=c',
    statusline: 'HTTP/1.1 200 OK',
    text: '<p>ü</p>',
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'x-archive-orig-content-encoding': 'gzip',
      'x-archive-orig-content-length': '31',
      'content-length': '9',
      vary: 'Accept, Origin',
    },
  });
  expect(response?.warcHeader('WARC-Payload-Digest')).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(request).toMatchObject({
    type: 'request',
    statusline: 'GET /a?b=c HTTP/1.1',
    headers: { host: 'example.test', 'user-agent': 'Holdoff/test (+https://ops.example)' },
  });
  for (const record of [request, metadata])
    expect(record?.warcHeader('WARC-Concurrent-To')).toBe(response?.warcHeader('WARC-Record-ID'));
  expect(JSON.parse(metadata?.text ?? '')).toMatchObject({ key: 'j.1', status: 200 });
  expect(gunzipSync(await readFile(path)).toString(), 'session secrets stay out').not.toContain('CANARY');
});

test('a URL that nobody answered has its line, and no exchange is made up', async () => {
  const sink = await open();
  await sink.deliver(
    endedUrl('j.1', { outcome: 'stopped', reason: 'dns', status: 0, contentType: null, bodyBytes: 0 }),
    page(new Uint8Array()),
  );
  await sink.close();
  const records = await readWarc(join(folder, (await files())[0] ?? ''));
  expect(records.map(({ type }) => type)).toEqual(['warcinfo', 'metadata']);
});

test('a file that has its size is finished, and the next one begins with its own head', async () => {
  const sink = await open(2_000);
  for (let n = 0; n < 8; n += 1) await sink.deliver(endedUrl(`j.${n}`), page(Buffer.from(`page ${n}`)));
  await sink.close();
  const names = await files();
  expect(names.length).toBeGreaterThan(2);
  expect(names.every((name) => name.endsWith('.warc.gz'))).toBe(true);
  const keys: (string | null)[] = [];
  for (const name of names) {
    const records = await readWarc(join(folder, name));
    expect(records[0]?.type).toBe('warcinfo');
    expect((await stat(join(folder, name))).size).toBeLessThan(2_000 + 3_000);
    keys.push(...records.filter(({ type }) => type === 'metadata').map(({ key }) => key));
  }
  expect(keys).toEqual(Array.from({ length: 8 }, (_, n) => `j.${n}`));
});

test('kill -9 loses no result that was accepted, and what is half written hides none before it', async () => {
  const module = new URL('./warc-sink.ts', import.meta.url).href;
  const testing = new URL('../testing/ended-url.ts', import.meta.url).href;
  // Says each key once its delivery has resolved, and goes on until it is killed.
  const script = `
    import { createWarcSink } from ${JSON.stringify(module)};
    import { endedUrl, page } from ${JSON.stringify(testing)};
    const sink = await createWarcSink({ folder: ${JSON.stringify(folder)}, workerId: 'w', userAgent: 'x',
      fileBytesMax: 1e9, wallMs: Date.now });
    for (let n = 0; ; n += 1) {
      await sink.deliver(endedUrl('k' + n), page(Buffer.alloc(20_000, String(n))));
      process.stdout.write('k' + n + '\\n');
    }`;
  const child = execFile(process.execPath, [
    '--conditions=holdoff-source',
    '--input-type=module',
    '-e',
    script,
  ]);
  let accepted = '';
  child.stdout?.on('data', (chunk: string) => {
    accepted += chunk;
    if (accepted.split('\n').length > 20) child.kill('SIGKILL');
  });
  let faults = '';
  child.stderr?.on('data', (chunk: string) => (faults += chunk));
  await once(child, 'close');
  const keys = accepted.split('\n').filter((line) => line !== '');
  expect(keys.length, faults).toBeGreaterThan(10);

  const [name] = await files();
  expect(name).toMatch(/\.warc\.gz\.open$/);
  const path = join(folder, name ?? '');
  // Half a record, as a power cut would leave it.
  const whole = await readFile(path);
  await appendFile(path, whole.subarray(0, 100));
  const records = await readWarc(path);
  const found = records.filter(({ type }) => type === 'metadata').map(({ key }) => key);
  expect(found.slice(0, keys.length)).toEqual(keys);
});
