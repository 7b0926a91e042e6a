import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { Redis } from 'ioredis';
import type { Gate, HostKey } from '@holdoff/throttle-core';
import { createRedisGate, publishPolicy } from '@holdoff/throttle-core/redis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { batchPlanCommand } from '../commands/batch-plan.ts';
import { enqueueCommand } from '../commands/enqueue.ts';

const POLICY = `
preset: balanced
groups:
  shop:
    hosts: [a.shop.test, b.shop.test]
    pace: { interval: 1s }
hosts:
  paced.test:
    pace: { interval: 2s }
`;
let server: LocalRedis;
let redis: Redis;
let gate: Gate;
let folder: string;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url);
  gate = createRedisGate({ redis });
  folder = await mkdtemp(join(tmpdir(), 'holdoff-feasibility-'));
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await redis.flushall();
  await publishPolicy(redis, { text: POLICY, name: 'p.yaml', by: 'test', tag: 'holdoff' });
});

async function list(name: string, hosts: Readonly<Record<string, number>>, extra = ''): Promise<string> {
  const lines = Object.entries(hosts).flatMap(([host, count]) =>
    Array.from({ length: count }, (_, at) => `https://${host}/${at}`),
  );
  const path = join(folder, name);
  await writeFile(path, `${lines.join('\n')}\n${extra}`);
  return path;
}

interface Planned {
  readonly urls: number;
  readonly refused: number;
  readonly fits: boolean;
  readonly needsMs: number | null;
  readonly hosts: readonly Readonly<Record<string, unknown>>[];
}

async function plan(...args: string[]): Promise<{ code: number; planned: Planned; errors: string }> {
  const said = { out: '', errors: '' };
  const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    said.out += String(text);
    return true;
  });
  const errors = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said.errors += String(text);
    return true;
  });
  let code = 0;
  process.exitCode = 0;
  try {
    await batchPlanCommand().parseAsync([...args, '--json', '--redis', server.url], { from: 'user' });
    code = exitCode();
  } finally {
    process.exitCode = 0;
    out.mockRestore();
    errors.mockRestore();
  }
  return {
    code,
    planned: (said.out === '' ? {} : JSON.parse(said.out)) as Planned,
    errors: said.errors,
  };
}

function exitCode(): number {
  return Number(process.exitCode ?? 0);
}

async function enqueue(...args: string[]): Promise<string> {
  let errors = '';
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      errors += chunk.toString();
      done();
    },
  });
  const command = enqueueCommand(() => ({
    input: Readable.from([Buffer.from('https://paced.test/from-input\n')]),
    output: { write: () => undefined },
    errors: stream,
    nowMs: Date.now,
    signal: new AbortController().signal,
  }));
  await command.parseAsync([...args, '--redis', server.url], { from: 'user' });
  process.exitCode = 0;
  // oxlint-disable-next-line no-control-regex -- colours
  return errors.replaceAll(/\u001b\[\d*m/g, '');
}

test('plans by the pace of the policy, a group as one host, a URL listed twice once', async () => {
  const hosts = { 'paced.test': 100, 'a.shop.test': 30, 'b.shop.test': 20 };
  const path = await list('plan.txt', hosts, 'https://paced.test/0\nnonsense\n');
  const { code, planned } = await plan(path, '--deadline', '100s');
  expect(planned).toMatchObject({ urls: 150, refused: 1, fits: false, needsMs: 200_000 });
  expect(planned.hosts.map(({ host, urls, needsMs, verdict }) => ({ host, urls, needsMs, verdict }))).toEqual(
    [
      { host: 'paced.test', urls: 100, needsMs: 200_000, verdict: 'late' },
      { host: 'shop', urls: 50, needsMs: 50_000, verdict: 'fits' },
    ],
  );
  expect(code).toBe(2);
  expect(await redis.xlen('holdoff:inbox')).toBe(0);
});

test('what the fleet knows of a host goes before its policy, and a rate that is said before both', async () => {
  const path = await list('known.txt', { 'paced.test': 100 });
  await gate.setPaceOverride('paced.test' as HostKey, { kind: 'fixed', intervalMs: 4_000 });
  const known = await plan(path, '--deadline', '1h');
  expect(known.planned.hosts[0]).toMatchObject({ source: 'fleet', intervalMs: 4_000, needsMs: 400_000 });
  expect(known.code).toBe(0);
  const given = await plan(path, '--deadline', '1h', '--rate', 'paced.test=30/m');
  expect(given.planned.hosts[0]).toMatchObject({ source: 'given', intervalMs: 2_000, needsMs: 200_000 });
});

test('a held host is never in time, whatever its pace', async () => {
  await gate.hold('paced.test' as HostKey, 'their maintenance', 'ann');
  const { planned, code } = await plan(await list('held.txt', { 'paced.test': 1 }));
  expect(planned).toMatchObject({ fits: false, needsMs: null, hosts: [{ verdict: 'held' }] });
  expect(code).toBe(2);
});

test.each([
  [['--rate', 'paced.test'], /--rate must be such as/],
  [['--rate', 'paced.test=0/s'], /--rate must be such as/],
  [['--rate', 'other.test=1/s'], /no URL is of that host/],
  [['--deadline', 'soon'], /must be an ISO 8601 instant/],
])('%j is one clear line', async (args, message) => {
  const { code, errors } = await plan(await list('bad.txt', { 'paced.test': 1 }), ...args);
  expect(errors).toMatch(message);
  expect(code).toBe(1);
});

test('enqueue names hosts that cannot make it before it sends, and sends all the same', async () => {
  const path = await list('late.txt', { 'paced.test': 100, 'a.shop.test': 3 });
  const errors = await enqueue(path, '--deadline', '100s');
  expect(errors).toMatch(/^warning paced\.test: 100 URLs take 4 min at 30\/min \(set by the policy\)/);
  expect(errors).not.toContain('shop');
  expect(await redis.xlen('holdoff:inbox')).toBe(103);
});

test('enqueue says nothing when all can be done, and reads standard input only once', async () => {
  expect(await enqueue(await list('fine.txt', { 'paced.test': 10 }), '-', '--deadline', '1h')).toBe('');
  expect(await redis.xlen('holdoff:inbox')).toBe(11);
});
