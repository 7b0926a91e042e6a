import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type SampleOrigin, startSampleOrigin } from '@holdoff/sample-origin';

/** `holdoff run` as a person runs it: the built command, its own store and processes, judged by origin and results. */
const HOSTS = 40;
const URLS_PER_HOST = 50;

let origin: SampleOrigin;
let folder = '';

beforeAll(async () => {
  origin = await startSampleOrigin({
    hosts: [
      { name: 'site', count: HOSTS - 1, latency: { kind: 'uniform', minMs: 5, maxMs: 30 } },
      { name: 'throttled', limiter: { kind: 'token_bucket', perSecond: 10, burst: 10 } },
    ],
  });
});
afterAll(() => origin?.stop());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-run-'));
  origin.reset();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
} {
  const child = spawn(process.execPath, ['--enable-source-maps', 'apps/cli/dist/main.js', 'run', ...args], {
    env: { ...process.env, NO_COLOR: '1', REDIS_URL: '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  child.stdout?.on('data', (data: Buffer) => (out.stdout += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (out.stderr += data.toString()));
  const finished = once(child, 'close').then(([code]) => ({ code: code as number | null, ...out }));
  return { child, finished };
}

function places(): string[] {
  return ['--out', join(folder, 'out'), '--data', join(folder, 'data'), '--allow-network', '127.0.0.0/8'];
}

async function writeList(urls: readonly string[]): Promise<string> {
  const path = join(folder, 'urls.txt');
  await writeFile(path, `${urls.join('\n')}\n`);
  return path;
}

async function resultUrls(): Promise<string[]> {
  const text = await readFile(join(folder, 'out', 'results.jsonl'), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { url: string }).url);
}

async function until(what: string, look: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The worker processes below a command. */
function workersOf(pid: number): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listed
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter(
      (match) => match !== null && Number(match[2]) === pid && /worker\/dist\/main\.js/.test(match[3] ?? ''),
    )
    .map((match) => Number(match?.[1]));
}

test('2,000 URLs over 40 hosts all end, although a worker is killed in the middle', async () => {
  const urls = [...origin.hosts.values()].flatMap((base) =>
    Array.from({ length: URLS_PER_HOST }, (_, n) => `${base}/page/${n}`),
  );
  const run = start([await writeList(urls), ...places(), '--workers', '3', '--json']);
  const seen = (): number => origin.stats().hosts.reduce((sum, host) => sum + host.served, 0);
  await until('a third is fetched', () => seen() > urls.length / 3, 120_000);
  const [victim] = workersOf(run.child.pid ?? 0);
  process.kill(victim ?? 0, 'SIGKILL');
  const { code, stdout, stderr } = await run.finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const summary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Record<string, number>;
  expect(summary).toMatchObject({ urls: urls.length, done: urls.length, stopped: {}, waiting: 0 });
  expect(new Set(await resultUrls()).size).toBe(urls.length);
  const throttled = origin.stats().hosts.find((host) => host.host === 'throttled');
  expect(throttled?.throttled429 ?? 99).toBeLessThanOrEqual(3);
}, 400_000);

test('Ctrl-C stops cleanly, and the same command goes on where it stopped', async () => {
  const base = origin.urlOf('throttled');
  const list = await writeList(Array.from({ length: 60 }, (_, n) => `${base}/page/${n}`));
  const first = start([list, ...places(), '--workers', '2', '--json']);
  await until('some are fetched', async () => (await resultUrls()).length >= 10, 60_000);
  first.child.kill('SIGINT');
  const stopped = await first.finished;
  expect(stopped.code).toBe(130);
  const before = (await resultUrls()).length;
  expect(before).toBeLessThan(60);

  const second = await start([list, ...places(), '--workers', '2', '--json']).finished;
  expect(second.code).toBe(0);
  const all = await resultUrls();
  expect(new Set(all).size).toBe(60);
  expect(all.length).toBe(60);
}, 240_000);

/** Everything that a command has started, by what each process is. */
function startedBy(pid: number): Map<number, string> {
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const rows = listed.split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line));
  const found = new Map<number, string>();
  for (const row of rows) {
    if (
      row !== null &&
      (Number(row[2]) === pid || found.has(Number(row[2]))) &&
      !(row[3] ?? '').startsWith('ps ')
    )
      found.set(Number(row[1]), row[3] ?? '');
  }
  return found;
}

test('a run that is killed leaves no process behind, and the same command goes on', async () => {
  const base = origin.urlOf('throttled');
  const list = await writeList(Array.from({ length: 60 }, (_, n) => `${base}/page/${n}`));
  const first = start([list, ...places(), '--workers', '2', '--json']);
  await until('some are fetched', async () => (await resultUrls()).length >= 5, 60_000);
  const started = startedBy(first.child.pid ?? 0);
  expect(
    [...started.values()].filter((args) => /worker|scheduler|redis|valkey|guard/.test(args)),
  ).toHaveLength(5);
  first.child.kill('SIGKILL');
  const alive = (): string[] => [...started].filter(([pid]) => isAlive(pid)).map(([, args]) => args);
  await expect.poll(alive, { timeout: 40_000, interval: 100 }).toEqual([]);
  expect((await start([list, ...places(), '--workers', '2', '--json']).finished).code).toBe(0);
  expect(new Set(await resultUrls()).size).toBe(60);
}, 240_000);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('a run uses the Redis of REDIS_URL, and none of its own instead when that is away', async () => {
  const { code, stderr } = await start([origin.urlOf('throttled'), ...places()], {
    REDIS_URL: 'redis://127.0.0.1:1',
  }).finished;
  expect(code).toBe(1);
  expect(stderr).toContain('no Redis answers at redis://127.0.0.1:1');
}, 60_000);

test.each<[string, () => Promise<string[]>, RegExp]>([
  [
    'a binary file',
    async () => {
      await writeFile(join(folder, 'b.bin'), new Uint8Array([137, 80, 78, 71, 255, 254, 0]));
      return [join(folder, 'b.bin')];
    },
    /not a text file/,
  ],
  ['a line of 1 MB', async () => [await writeList(['x'.repeat(1_000_000)])], /line 1 is longer than/],
  ['a file that is not there', async () => [join(folder, 'none.txt')], /no such file/],
  [
    'an unreachable Redis',
    async () => [await writeList(['http://a.test/']), '--redis', 'redis://127.0.0.1:1'],
    /no Redis answers at/,
  ],
  [
    'a bad policy',
    async () => {
      await writeFile(join(folder, 'p.yaml'), 'preset: balanced\npace: { interval: 5 }\n');
      return [await writeList(['http://a.test/']), '--policy', join(folder, 'p.yaml')];
    },
    /p\.yaml:2/,
  ],
  ['no worker', async () => ['http://a.test/', '--workers', '0'], /whole number from 1 to 64/],
  [
    'a network that is none',
    async () => ['http://a.test/', '--allow-network', 'everything'],
    /must be a network/,
  ],
  ['nothing that can be fetched', async () => [await writeList(['ftp://a.test/'])], /no URL to fetch/],
])(
  '%s gets a clear line and an exit code that is not 0',
  async (_name, args, message) => {
    const { code, stderr } = await start([...(await args()), '--data', join(folder, 'data')]).finished;
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n\s+at /);
  },
  60_000,
);

test('a second run in the same data folder is refused by name', async () => {
  const base = origin.urlOf('throttled');
  const list = await writeList(Array.from({ length: 200 }, (_, n) => `${base}/page/${n}`));
  const first = start([list, ...places(), '--workers', '1', '--json']);
  await until('it works', async () => (await resultUrls()).length > 0, 60_000);
  const second = await start([list, ...places()]).finished;
  expect(second.code).toBe(1);
  expect(second.stderr).toMatch(/another run is using .*process \d+/);
  first.child.kill('SIGINT');
  expect((await first.finished).code).toBe(130);
}, 120_000);

test('a port in use is said in one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const child = spawn(process.execPath, ['apps/worker/dist/main.js'], {
    env: {
      ...process.env,
      METRICS_PORT: String(port),
      REDIS_URL: 'redis://127.0.0.1:1',
      RESULTS_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout?.on('data', (data: Buffer) => (said += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  const [code] = (await once(child, 'close')) as [number];
  server.close();
  expect(code).not.toBe(0);
  expect(said.trimEnd().split('\n')).toHaveLength(1);
}, 60_000);
