import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { Redis } from 'ioredis';
import type { BatchId } from '@holdoff/throttle-core';
import { createRedisGate } from '@holdoff/throttle-core/redis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { InboxStuck, sendEntries } from '../enqueue/send-entries.ts';
import { enqueueCommand } from './enqueue.ts';

const NOW = Date.now();
let server: LocalRedis;
let redis: Redis;
let folder: string;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url);
  folder = await mkdtemp(join(tmpdir(), 'holdoff-enqueue-'));
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  await rm(folder, { recursive: true });
});
beforeEach(() => redis.flushall());

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

async function run(args: readonly string[], input = '', signal?: AbortSignal): Promise<Ran> {
  let out = '';
  let errors = '';
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      errors += chunk.toString();
      done();
    },
  });
  const command = enqueueCommand(() => ({
    input: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    output: { write: (text) => (out += text) },
    errors: sink,
    nowMs: () => NOW,
    signal: signal ?? new AbortController().signal,
  }));
  process.exitCode = 0;
  const url = args.includes('--redis') ? [] : ['--redis', server.url];
  await command.parseAsync([...args, ...url], { from: 'user' });
  const code = exitCode();
  process.exitCode = 0;
  // oxlint-disable-next-line no-control-regex -- colours
  return { code, out, errors: errors.replaceAll(/\u001b\[\d*m/g, '') };
}

function exitCode(): number {
  return Number(process.exitCode ?? 0);
}

async function inbox(): Promise<readonly Record<string, string>[]> {
  return (await redis.xrange('holdoff:inbox', '-', '+')).map(([, fields]) =>
    Object.fromEntries(fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? '']] : []))),
  );
}

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

test('sends URLs from arguments, files and standard input with what the flags say', async () => {
  const list = await file('urls.txt', '\uFEFF# tonight\nhttp://a.test/1\r\n\n  http://a.test/2  \n');
  const flags = [
    '--batch',
    'nightly',
    '--priority',
    '7',
    '--not-before',
    '+5m',
    '--deadline',
    '6h',
    '--method',
    'HEAD',
  ];
  const ran = await run(['http://c.test/', list, '-', ...flags, '--headers', 'contact'], 'http://b.test/');
  expect(ran).toEqual({ code: 0, out: '4 URLs sent to batch nightly\n', errors: '' });
  const entries = await inbox();
  expect(entries.map(({ url }) => url)).toEqual([
    'http://c.test/',
    'http://a.test/1',
    'http://a.test/2',
    'http://b.test/',
  ]);
  expect(entries[0]).toEqual({
    batch: 'nightly',
    priority: '7',
    not_before: String(NOW + 300_000),
    deadline: String(NOW + 21_600_000),
    method: 'HEAD',
    headers: 'contact',
    url: 'http://c.test/',
  });
});

test('a JSON line says its own, and the flags say the rest', async () => {
  const lines = '{"url": "http://a.test/", "priority": 3}\n{"url": "http://b.test/", "batch": "other"}\n';
  expect((await run(['-', '--batch', 'nightly', '--priority', '9'], lines)).code).toBe(0);
  expect(await inbox()).toMatchObject([
    { url: 'http://a.test/', priority: '3', batch: 'nightly' },
    { url: 'http://b.test/', priority: '9', batch: 'other' },
  ]);
});

test('bad lines are listed with place, field, value and rule, and the good ones are sent', async () => {
  const lines = [
    'http://a.test/ok',
    'ftp://a.test/',
    'not a url',
    '{"url": "http://a.test/", "colour": "red"}',
    '{"url": "http://a.test/", "priority": 1000}',
    '{"url": ["http://a.test/"]}',
    '{"url": ',
    '{"url": "http://a.test/", "__proto__": "x"}',
    'x'.repeat(1_000_000),
    'http://u:CANARY@a.test/',
    'http://b.test/ok',
  ];
  const list = await file('mixed.txt', lines.join('\n'));
  const { code, out, errors } = await run([list]);
  expect(code).toBe(1);
  expect(out).toBe('2 URLs sent to batch default, 9 lines refused\n');
  expect((await inbox()).map(({ url }) => url)).toEqual(['http://a.test/ok', 'http://b.test/ok']);
  const listed = errors.trim().split('\n');
  expect(listed).toHaveLength(9);
  expect(listed[0]).toBe(`refused ${list}:2: url "ftp://a.test/" must be an http or https URL`);
  expect(listed[2]).toContain(`${list}:4: colour "red" must be one of url, batch`);
  expect(listed[6]).toContain('__proto__');
  expect(listed[7]).toContain(`${list}:9: line "" must be at most 64 KiB long`);
  expect(errors).not.toContain('CANARY');
  expect(errors.length).toBeLessThan(4_000);
});

test('many bad lines are counted, not all listed; --json says it in one object', async () => {
  const lines = Array.from({ length: 500 }, (_, index) => `bad ${index}`).join('\n');
  const plain = await run(['-'], lines);
  expect(plain.errors.trim().split('\n')).toHaveLength(21);
  const { code, out } = await run(['-', '--json'], `${lines}\nhttp://a.test/`);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toEqual({ batch: 'default', sent: 1, refused: 500, fault: null });
});

test.each([
  [
    'a binary file',
    async () => [await file('x.bin', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2]))],
    'is not a text file',
  ],
  ['a file that is not there', async () => ['/nowhere/urls.txt'], 'no such file: /nowhere/urls.txt'],
  ['a folder', async () => [folder], 'is a folder'],
  [
    'no Redis',
    async () => ['http://a.test/', '--redis', 'redis://:CANARY@127.0.0.1:1/'],
    'no Redis answers at',
  ],
])(
  '%s is one clear line and an exit code',
  async (_, args, text) => {
    const { code, out, errors } = await run(await args());
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(errors.trim().split('\n')).toHaveLength(1);
    expect(errors).toMatch(/^holdoff enqueue: /);
    expect(errors).toContain(text);
    expect(errors).not.toContain('CANARY');
    expect(await redis.xlen('holdoff:inbox')).toBe(0);
  },
  15_000,
);

test('a new batch gets its retry tokens; an existing one keeps them and says so', async () => {
  expect((await run(['http://a.test/', '--batch', 'b1', '--retry-tokens', '200'])).code).toBe(0);
  const gate = createRedisGate({ redis });
  expect((await gate.inspectBatch('b1' as BatchId))?.tokens).toMatchObject({ total: 200 });
  expect((await run(['http://a.test/2', '--batch', 'b1', '--retry-tokens', '200'])).code).toBe(0);
  const other = await run(['http://a.test/3', '--batch', 'b1', '--retry-tokens', '300']);
  expect(other).toMatchObject({ code: 1, errors: expect.stringContaining('exists with 200 retry tokens') });
  expect(await redis.xlen('holdoff:inbox')).toBe(2);
});

test('a list of any size is sent in bounded trips', async () => {
  const urls = 20_000;
  const list = await file(
    'large.txt',
    Array.from({ length: urls }, (_, index) => `http://h${index % 9}.test/${index}`).join('\n'),
  );
  const started = performance.now();
  expect((await run([list])).code).toBe(0);
  expect(await redis.xlen('holdoff:inbox')).toBe(urls);
  console.log(`${Math.round((urls / (performance.now() - started)) * 1_000)} URLs/s into the inbox`);
});

test('a full inbox is waited for; one that nobody empties is a fault that names the cause', async () => {
  const url = ['url', 'http://a.test/'];
  async function* three() {
    for (let count = 0; count < 3; count += 1) yield { kind: 'entry', fields: url } as const;
  }
  for (let count = 0; count < 10; count += 1) await redis.xadd('inbox', '*', ...url);
  const waits: (number | null)[] = [];
  const options = {
    redis,
    inbox: 'inbox',
    inboxMax: 10,
    patienceMs: 10_000,
    signal: new AbortController().signal,
    events: {
      sent: () => undefined,
      refused: () => undefined,
      waiting: (length: number | null) => void waits.push(length),
    },
  };
  const sending = sendEntries(three(), options);
  await expect.poll(() => waits.length).toBeGreaterThan(0);
  await redis.xtrim('inbox', 'MAXLEN', 5);
  await sending;
  expect(await redis.xlen('inbox')).toBe(8);
  expect(waits.at(-1)).toBeNull();
  await expect(sendEntries(three(), { ...options, inboxMax: 1, patienceMs: 0 })).rejects.toThrow(InboxStuck);
});

test('an interrupt ends it, also while nothing comes in', async () => {
  const interrupted = new AbortController();
  setTimeout(() => interrupted.abort(), 300);
  const silent = new Readable({ read: () => undefined });
  const command = enqueueCommand(() => ({
    input: silent,
    output: { write: () => undefined },
    errors: new Writable({ write: (_, __, done) => done() }),
    nowMs: () => NOW,
    signal: interrupted.signal,
  }));
  await command.parseAsync(['-', '--redis', server.url], { from: 'user' });
  expect(process.exitCode).toBe(130);
  process.exitCode = 0;
});
