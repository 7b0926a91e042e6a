import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HandlerPool, type HandlerPoolOptions } from './handler-pool.ts';
import type { HandlerPage } from './handler-page.ts';

let folder = '';
const pools: HandlerPool[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-handler-'));
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
  await rm(folder, { recursive: true, force: true });
});

async function start(code: string, options: Partial<HandlerPoolOptions> = {}, name = 'handler.mjs') {
  const path = join(folder, name);
  await writeFile(path, code);
  const pool = await HandlerPool.start({
    source: { kind: 'module', path },
    threads: 1,
    memoryMiB: 64,
    ...options,
  });
  pools.push(pool);
  return pool;
}

const pageAt = (path: string, body = ''): HandlerPage => ({
  url: `https://a.test${path}`,
  finalUrl: `https://a.test${path}`,
  status: 200,
  headers: { 'x-a': '1' },
  contentType: 'text/html',
  body: Buffer.from(body),
});
const NEVER = new AbortController().signal;
const LONG_MS = 20_000;

/** One handler whose pages choose how it behaves, as pages of a site do. */
const MOODS = `
  export default async function ({ url, status, headers, body, text }) {
    const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end); };
    switch (new URL(url).pathname) {
      case '/ok': return { kind: 'useful', data: { status, header: headers['x-a'], bytes: body.length, text: text() } };
      case '/spin': spin(5_000); return { kind: 'useful' };
      case '/loop': for (;;);
      case '/regex': return /^(a+)+$/.test('a'.repeat(50) + 'b') ? 1 : 2;
      case '/never': return new Promise(() => {});
      case '/bomb': { const all = []; for (;;) all.push(new Array(100_000).fill({})); }
      case '/throw': throw new TypeError('no price\\non this page');
      case '/throw-odd': throw { toString() { throw 1; } };
      case '/reject': return Promise.reject(new Error('later'));
      case '/floating': Promise.reject(new Error('floating')); await new Promise((r) => setTimeout(r, 1_000)); return { kind: 'useful' };
      case '/exit': process.exit(3);
      case '/garbage': return 42;
    }
  }`;

test('a handler gets the page and gives data; TypeScript needs no build', async () => {
  const pool = await start(
    `interface Page { readonly url: string; text(): string }
     export default (page: Page): unknown => ({ kind: 'useful', data: page.text().length as number, follow: ['/b'] });`,
    {},
    'handler.ts',
  );
  expect(await pool.run(pageAt('/a', 'grün'), LONG_MS, NEVER)).toEqual({
    kind: 'useful',
    data: '4',
    follow: ['/b'],
  });
});

describe('whatever a handler does costs its own page only', () => {
  test.each([
    ['/throw', 'it threw TypeError: no price on this page'],
    ['/throw-odd', 'it threw a value that cannot be shown'],
    ['/reject', 'it threw Error: later'],
    ['/floating', 'it ended the thread with Error: floating'],
    ['/exit', 'it ended the thread'],
    ['/bomb', 'it used more than 64 MiB of memory'],
    ['/garbage', 'it returned a value of type number, no object'],
  ])('%s: %s', async (path, fault) => {
    const pool = await start(MOODS);
    expect(await pool.run(pageAt(path), LONG_MS, NEVER)).toEqual({ kind: 'failed', fault });
    const next = await pool.run(pageAt('/ok', 'next'), LONG_MS, NEVER);
    expect(next).toMatchObject({
      kind: 'useful',
      data: '{"status":200,"header":"1","bytes":4,"text":"next"}',
    });
  });

  test.each(['/loop', '/regex', '/never'])('%s is ended when the budget is', async (path) => {
    const pool = await start(MOODS);
    const startedAt = performance.now();
    const reply = await pool.run(pageAt(path), 500, NEVER);
    expect(reply).toEqual({
      kind: 'failed',
      fault: 'it took longer than the 500 ms that were left of the attempt',
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect((await pool.run(pageAt('/ok'), LONG_MS, NEVER)).kind).toBe('useful');
  });
});

test('5 s of computing blocks neither the event loop nor the pages of other threads', async () => {
  const pool = await start(MOODS, { threads: 2 });
  let spinning = true;
  const spun = pool.run(pageAt('/spin'), LONG_MS, NEVER).finally(() => (spinning = false));
  let turns = 0;
  const ticking = setInterval(() => (turns += 1), 10);
  const others = [];
  for (let n = 0; n < 20; n += 1) others.push((await pool.run(pageAt('/ok'), LONG_MS, NEVER)).kind);
  expect(spinning, 'the others were done while it computed').toBe(true);
  expect(others).toEqual(Array(20).fill('useful'));
  expect((await spun).kind).toBe('useful');
  clearInterval(ticking);
  expect(turns, 'turns of 10 ms in 5 s').toBeGreaterThan(50);
});

test('pages in line wait on their own budgets, and the handler is not blamed for a full line', async () => {
  const pool = await start(MOODS);
  const blocked = pool.run(pageAt('/never'), 1_500, NEVER);
  const inLine = await pool.run(pageAt('/ok'), 200, NEVER);
  expect(inLine).toEqual({ kind: 'crowded' });
  const patient = pool.run(pageAt('/ok'), LONG_MS, NEVER);
  expect((await blocked).kind).toBe('failed');
  expect((await patient).kind).toBe('useful');
});

test('a delivery that is ended from outside ends its handler', async () => {
  const pool = await start(MOODS);
  const ended = new AbortController();
  const reply = pool.run(pageAt('/loop'), LONG_MS, ended.signal);
  const inLine = pool.run(pageAt('/ok'), LONG_MS, ended.signal);
  ended.abort();
  expect([await reply, await inLine]).toEqual([{ kind: 'cut' }, { kind: 'cut' }]);
  expect(await pool.run(pageAt('/ok'), LONG_MS, ended.signal)).toEqual({ kind: 'cut' });
  expect((await pool.run(pageAt('/ok'), LONG_MS, NEVER)).kind).toBe('useful');
});

test('200 failures in a row leave the pool as it was', async () => {
  const pool = await start(MOODS, { threads: 2 });
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, n) =>
      pool.run(pageAt(n % 20 === 0 ? '/exit' : '/throw'), LONG_MS, NEVER),
    ),
  );
  expect(replies.every(({ kind }) => kind === 'failed')).toBe(true);
  expect((await pool.run(pageAt('/ok'), LONG_MS, NEVER)).kind).toBe('useful');
});

test.each([
  ['that is no code', 'export default function (', 'SyntaxError'],
  ['without a default', 'export const handle = () => 1;', 'export a function as default'],
  ['whose default is no function', 'export default { handle() {} };', 'export a function as default'],
  ['that throws while it is loaded', 'throw new Error("no key file");', 'no key file'],
  ['that ends the process', 'process.exit(0);', 'ended the thread'],
])('a module %s is known at the start', async (_, code, part) => {
  await expect(start(code)).rejects.toThrow(part);
});

test('a module that is not there is known at the start', async () => {
  const source = { kind: 'module', path: join(folder, 'absent.mjs') } as const;
  await expect(HandlerPool.start({ source, threads: 1, memoryMiB: 64 })).rejects.toThrow('absent.mjs');
});

test('a thread whose handler breaks while it is loaded, and does not end by itself, is replaced', async () => {
  const pool = await start(MOODS);
  const path = join(folder, 'handler.mjs');
  await writeFile(path, `setInterval(() => {}, 1_000); throw new Error('half written');`);
  expect((await pool.run(pageAt('/exit'), LONG_MS, NEVER)).kind).toBe('failed');
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await writeFile(path, MOODS);
  expect((await pool.run(pageAt('/ok'), LONG_MS, NEVER)).kind).toBe('useful');
});
