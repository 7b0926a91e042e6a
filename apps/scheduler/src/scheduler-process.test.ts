import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type SchedulerProcess, startSchedulerProcess } from './testing/scheduler-process.ts';
import { type SchedulerWorld, openWorld } from './testing/scheduler-world.ts';

// Each test starts processes of its own, and a busy machine takes seconds for one.
vi.setConfig({ testTimeout: 90_000 });

let world: SchedulerWorld;
let folder: string;
const running: SchedulerProcess[] = [];

beforeAll(async () => {
  world = await openWorld(process.env['PATH'] ?? '');
  folder = await mkdtemp(join(tmpdir(), 'holdoff-scheduler-'));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});
beforeEach(() => world.empty());
afterEach(async () => {
  for (const process of running.splice(0)) await process.end('SIGKILL');
});

function start(settings: Readonly<Record<string, string>> = {}): SchedulerProcess {
  const process = startSchedulerProcess({ REDIS_URL: world.server.url, ...settings });
  running.push(process);
  return process;
}

async function addUrls(count: number, name: string): Promise<void> {
  const pipeline = world.redis.pipeline();
  for (let index = 0; index < count; index += 1) {
    pipeline.xadd(world.names.inbox, '*', 'url', `http://h${index % 50}.test/${name}/${index}`);
  }
  await pipeline.exec();
}

const inboxLength = (): Promise<number> => world.redis.xlen(world.names.inbox);

test('takes in what is in the inbox, tells how it is, and ends in order', async () => {
  await addUrls(50, 'early');
  await world.redis.xadd(world.names.inbox, '*', 'url', 'nonsense');
  const scheduler = start();
  await scheduler.saw('started');
  await expect.poll(inboxLength, { timeout: 30_000 }).toBe(0);
  expect((await scheduler.get('/healthz')).status).toBe(200);
  expect(await scheduler.get('/readyz')).toMatchObject({
    status: 200,
    body: expect.stringContaining('"redis":"ok"'),
  });
  const { body } = await scheduler.get('/metrics');
  expect(body).toMatch(/^holdoff_inbox_entries_total\{result="created"\} 50$/m);
  expect(body).toMatch(/^holdoff_inbox_rejected_total\{field="url"\} 1$/m);
  expect(body).toMatch(/^event_loop_lag_max_seconds /m);
  expect(await scheduler.end('SIGTERM')).toBe(0);
  expect(scheduler.lines.at(-1)).toMatchObject({ msg: 'stopped', exitCode: 0 });
});

test('kill -9 at any moment loses nothing and doubles nothing', async () => {
  const urls = 4_000;
  await addUrls(urls, 'crash');
  for (let index = 0; index < 20; index += 1)
    await world.redis.xadd(world.names.inbox, '*', 'url', `bad ${index}`);
  const settings = { INBOX_BATCH: '50', INBOX_CLAIM_AFTER_MS: '1000', LOG_LEVEL: 'info' };
  const steady = start({ ...settings, SCHEDULER_ID: 'steady' });
  await steady.saw('started');
  let kills = 0;
  while ((await inboxLength()) > 0 && kills < 3) {
    const victim = start({ ...settings, SCHEDULER_ID: `victim-${kills}` });
    await victim.saw('started');
    const before = await inboxLength();
    await expect.poll(inboxLength, { interval: 1, timeout: 30_000 }).toBeLessThan(Math.max(1, before - 10));
    await victim.end('SIGKILL');
    kills += 1;
    await addUrls(200, `during-${kills}`);
  }
  await expect.poll(inboxLength, { timeout: 60_000 }).toBe(0);
  const total = urls + 200 * kills;
  const figures = {
    kills,
    inQueue: await world.queue.count(),
    hashes: (await world.redis.keys('{holdoff}:urls:j_*')).length,
    ledgers: (await world.redis.keys('{holdoff}:job:*')).length,
    inBatch: (await world.gate.inspectBatch('default' as never))?.jobs.total,
    rejected: await world.redis.xlen(world.names.rejected),
    pending: (await world.redis.xpending(world.names.inbox, world.names.inboxGroup))[0],
  };
  expect(kills).toBeGreaterThan(0);
  expect(figures).toEqual({
    kills,
    inQueue: total,
    hashes: total,
    ledgers: total,
    inBatch: total,
    rejected: 20,
    pending: 0,
  });
}, 120_000);

test('goes on by itself after Redis was away', async () => {
  const scheduler = start({ LOG_LEVEL: 'fatal' });
  await expect.poll(() => world.redis.exists(world.names.inbox), { timeout: 30_000 }).toBe(1);
  await world.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await addUrls(100, 'after');
  await expect.poll(inboxLength, { timeout: 30_000 }).toBe(0);
  expect(await world.queue.count()).toBe(100);
  expect(await scheduler.end('SIGTERM')).toBe(0);
});

test('a Redis that would evict jobs is not ready, and the inbox keeps its entries', async () => {
  await world.redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
  try {
    await addUrls(10, 'kept');
    const scheduler = start();
    expect(await scheduler.get('/readyz')).toMatchObject({
      status: 503,
      body: expect.stringContaining('noeviction is needed'),
    });
    expect((await scheduler.get('/healthz')).status).toBe(200);
    expect(await inboxLength()).toBe(10);
  } finally {
    await world.redis.config('SET', 'maxmemory-policy', 'noeviction');
  }
});

test('publishes its policy file, follows its changes, and keeps the last good one', async () => {
  const path = join(folder, 'policy.yaml');
  await writeFile(path, 'preset: balanced\nmethods: [GET]\n');
  const scheduler = start({ POLICY_FILE: path });
  expect(await scheduler.saw('policy published')).toMatchObject({ version: 1 });
  await world.redis.xadd(world.names.inbox, '*', 'url', 'http://a.test/', 'method', 'HEAD');
  await expect.poll(() => world.redis.xlen(world.names.rejected), { timeout: 30_000 }).toBe(1);

  await writeFile(path, 'preset: balanced\ncolour: red\n');
  const refused = await scheduler.saw('policy not published');
  expect(String(refused['problem'])).toContain('colour');
  expect((await scheduler.get('/readyz')).status).toBe(503);

  await writeFile(path, 'preset: balanced\nmethods: [GET, HEAD]\n');
  await expect
    .poll(() => scheduler.lines.filter(({ msg }) => msg === 'policy in force').length, { timeout: 30_000 })
    .toBe(2);
  await world.redis.xadd(world.names.inbox, '*', 'url', 'http://a.test/', 'method', 'HEAD');
  await expect.poll(() => world.queue.count(), { timeout: 30_000 }).toBe(1);
  expect((await scheduler.get('/readyz')).status).toBe(200);
});

test.each([
  ['a port in use', async () => ({ METRICS_PORT: String(await takenPort()) }), 'the port is in use'],
  ['a policy file with a fault', async () => ({ POLICY_FILE: await faultyPolicy() }), 'colour'],
  [
    'no Redis',
    async () => ({ REDIS_URL: `redis://:CANARY@127.0.0.1:${await freePort()}` }),
    'no answer from Redis',
  ],
])('%s is one clear line and an exit code', async (_, settings, text) => {
  const scheduler = start(await settings());
  expect(await scheduler.ended()).toBe(1);
  const last = scheduler.lines.at(-1);
  expect(last).toMatchObject({ level: 'fatal' });
  expect(String(last?.['msg'])).toMatch(/^cannot start: /);
  expect(String(last?.['msg'])).toContain(text);
  expect(JSON.stringify(scheduler.lines)).not.toContain('CANARY');
});

async function faultyPolicy(): Promise<string> {
  const path = join(folder, 'faulty.yaml');
  await writeFile(path, 'preset: balanced\ncolour: red\n');
  return path;
}

const holders: ReturnType<typeof createServer>[] = [];
afterAll(() => {
  for (const holder of holders) holder.close();
});

async function takenPort(): Promise<number> {
  const server = createServer();
  holders.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function freePort(): Promise<number> {
  const port = await takenPort();
  const server = holders.pop();
  server?.close();
  return port;
}
