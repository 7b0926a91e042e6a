import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@holdoff/service-runtime';
import { type BatchId, type HostKey, hostRulesOf, type JobId, PRESETS } from '@holdoff/throttle-core';
import { urlJobId } from '@holdoff/url-job';
import { parseScheduleFile, runNameOf, type Schedule } from '@holdoff/url-job/schedule-file';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openWorld, type SchedulerWorld } from '../testing/scheduler-world.ts';
import { RecurringWork } from './recurring-work.ts';
import { openScheduleQueue, runJobId, RUN_OPTIONS, type ScheduleQueue } from './schedule-queue.ts';
import { syncSchedules } from './sync-schedules.ts';

let world: SchedulerWorld;
let folder: string;
let queue: ScheduleQueue;
let results: string[] = [];
const running: RecurringWork[] = [];
const FIRING = Date.parse('2026-01-15T02:00:00Z');
const HOUR = 3_600_000;

beforeAll(async () => {
  world = await openWorld(process.env['PATH'] ?? '');
  folder = await mkdtemp(join(tmpdir(), 'holdoff-schedules-'));
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  await world.empty();
  queue = openScheduleQueue(world.redis, world.names);
  results = [];
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((work) => work.stop()));
  await queue.close();
});

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined } as unknown as Logger;

async function start(text: string): Promise<RecurringWork> {
  const path = join(folder, 'schedules.yaml');
  await writeFile(path, text);
  const { redis, names, gate } = world;
  const policies = {
    forBatch: () => ({
      policy: PRESETS.balanced,
      spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
    }),
  };
  const metrics = { fired: (result: string) => void results.push(result), fault: () => undefined };
  const work = new RecurringWork({
    path,
    redis,
    names,
    gate,
    urlQueue: world.queue,
    logger: SILENT,
    metrics,
    policies,
  });
  await work.start();
  running.push(work);
  return work;
}

const FILE = 'schedules:\n  - { name: n, cron: 0 2 * * *, urls: [https://a.test/{date}] }\n'.replace(
  'https://a.test/{date}',
  '"https://a.test/{date}"',
);
const SCHEDULE: Schedule = {
  name: 'n',
  cron: '0 2 * * *',
  zone: 'UTC',
  urls: ['https://a.test/{date}', 'https://b.test/'],
  owner: 'ann',
  overlap: 'skip',
  missed: 'run_once',
};

/** As a firing adds it. */
async function addRun(firingMs: number, over: Partial<Schedule> = {}): Promise<string> {
  const schedule = { ...SCHEDULE, ...over };
  const batch = runNameOf(schedule.name, firingMs);
  await queue.add('run', { schedule, folder, firingMs }, { ...RUN_OPTIONS, jobId: runJobId(batch) });
  return batch;
}

async function inbox(): Promise<readonly Record<string, string>[]> {
  return (await world.redis.xrange(world.names.inbox, '-', '+')).map(([, fields]) =>
    Object.fromEntries(fields.flatMap((field, at) => (at % 2 === 0 ? [[field, fields[at + 1] ?? '']] : []))),
  );
}

/** Takes everything out of the inbox and into the gate, as intake does. */
async function takeIn(batch: string): Promise<readonly JobId[]> {
  const urls = (await inbox()).map(({ url }) => url ?? '');
  await world.enqueue(urls.map((url) => ({ url, batch })));
  await world.redis.del(world.names.inbox);
  return urls.map((url) => urlJobId({ batch, method: 'GET', url }) as string as JobId);
}

async function end(job: JobId | undefined, batch: string): Promise<void> {
  if (job === undefined) throw new Error('no such job');
  const finished = { job, batch: batch as BatchId, delivery: 1, evidence: 'test' };
  await world.gate.finish({ ...finished, end: { kind: 'stopped', reason: 'cancelled' } });
}

/** As a worker does for a 429 whose wait ends the run. */
async function defer(job: JobId | undefined, batch: BatchId): Promise<void> {
  if (job === undefined) throw new Error('no such job');
  const host = 'a.test' as HostKey;
  const rules = { ...hostRulesOf(PRESETS.balanced), learn: null };
  const known = await world.gate.inspectJob(job);
  const delivery = (known?.facts.run ?? 0) + 1;
  // What it was deferred to is over.
  const asked = { job, host, batch, delivery, purpose: 'attempt', attemptsMax: 10, rules } as const;
  const admitted = await world.gate.admit({ ...asked, nonce: `a${delivery}` });
  if (admitted.kind !== 'admitted') throw new Error(`not admitted: ${JSON.stringify(admitted)}`);
  await world.gate.settle({
    ...asked,
    leaseId: admitted.leaseId,
    nonce: `s${delivery}`,
    outcome: 'throttled',
    hostEffect: { cooldownUntilMs: 0, noHint: false, hold: null, rateLimit: null },
    jobEffect: { kind: 'defer', notBeforeMs: Date.now() },
    spent: { requests: 1, bytes: 0, costMicros: 0 },
    latencyMs: 1,
    evidence: '429',
  });
  // Where its worker puts it: nobody takes it up here before the next run does.
  const queued = await world.queue.getJob(job);
  if ((await queued?.isDelayed()) === false) {
    await world.redis.lrem(`${world.names.prefix}:${world.names.queue}:wait`, 0, job);
    await world.redis.zadd(
      `${world.names.prefix}:${world.names.queue}:delayed`,
      (Date.now() + HOUR) * 4096,
      job,
    );
  }
}

const eventually = { timeout: 15_000 };

test('a run is a batch of its own with the settings of its schedule, and its URLs in the inbox', async () => {
  await start(FILE);
  const before = await world.gate.now();
  await addRun(FIRING, { retry_tokens: 7, deadline: 6 * HOUR, approve: true });
  await expect.poll(() => results, eventually).toEqual(['entered']);
  const batch = await world.gate.inspectBatch('n-20260115T0200' as BatchId);
  expect(batch).toMatchObject({ owner: 'ann', approved: true, tokens: { total: 7, spent: 0 } });
  expect(batch?.deadlineMs).toBeGreaterThanOrEqual(before + 6 * HOUR);
  const deadline = String(batch?.deadlineMs);
  expect(await inbox()).toEqual([
    { url: 'https://a.test/2026-01-15', batch: 'n-20260115T0200', deadline },
    { url: 'https://b.test/', batch: 'n-20260115T0200', deadline },
  ]);
});

test('a list beside the file is read line by line', async () => {
  await writeFile(
    join(folder, '2026-01-15.txt'),
    '\uFEFF# tonight\nhttps://a.test/1\r\n\n  https://a.test/2\n',
  );
  await start(FILE);
  await addRun(FIRING, { urls: undefined, list: '{date}.txt' });
  await expect.poll(() => results, eventually).toEqual(['entered']);
  expect((await inbox()).map(({ url }) => url)).toEqual(['https://a.test/1', 'https://a.test/2']);
});

test('two schedulers make one run of a firing, however often it is asked for', async () => {
  await start(FILE);
  await start(FILE);
  for (let time = 0; time < 5; time += 1) await addRun(FIRING);
  await expect.poll(() => results, eventually).toEqual(['entered']);
  await addRun(FIRING);
  await addRun(FIRING + 24 * HOUR, { name: 'other' });
  await expect.poll(() => results, eventually).toEqual(['entered', 'entered']);
  expect((await inbox()).filter(({ batch }) => batch === 'n-20260115T0200')).toHaveLength(2);
});

test('overlap: skip leaves a run out while a URL of the one before is not in, or not ended', async () => {
  await start(FILE);
  const first = await addRun(FIRING);
  await expect.poll(() => results, eventually).toEqual(['entered']);
  await addRun(FIRING + HOUR);
  await expect.poll(() => results, eventually).toEqual(['entered', 'overlap']);
  const jobs = await takeIn(first);
  await end(jobs[0], first);
  await addRun(FIRING + 2 * HOUR);
  await expect.poll(() => results, eventually).toEqual(['entered', 'overlap', 'overlap']);
  await end(jobs[1], first);
  await addRun(FIRING + 3 * HOUR);
  await expect.poll(() => results, eventually).toEqual(['entered', 'overlap', 'overlap', 'entered']);
});

test('overlap: queue makes one run wait for the end of the one before, and leaves a second out', async () => {
  await start(FILE);
  const first = await addRun(FIRING, { overlap: 'queue' });
  await expect.poll(() => results, eventually).toEqual(['entered']);
  const second = await addRun(FIRING + HOUR, { overlap: 'queue' });
  const waits = (): Promise<string | null> => world.redis.hget(world.names.scheduleRuns, 'n:queued');
  await expect.poll(waits, eventually).toBe(second);
  await addRun(FIRING + 2 * HOUR, { overlap: 'queue' });
  await expect.poll(() => results, eventually).toEqual(['entered', 'overlap']);
  for (const job of await takeIn(first)) await end(job, first);
  await expect.poll(() => results, eventually).toEqual(['entered', 'overlap', 'entered']);
  expect((await inbox()).every(({ batch }) => batch === second)).toBe(true);
  expect(await waits()).toBeNull();
});

test('a run with approve: false sends its URLs when it is approved, and none when it is cancelled', async () => {
  await start(FILE);
  const first = (await addRun(FIRING, { approve: false })) as BatchId;
  await expect.poll(() => world.gate.inspectBatch(first), eventually).toMatchObject({ approved: false });
  expect(await inbox()).toEqual([]);
  await world.gate.approveBatch(first, 'ann');
  await expect.poll(() => results, eventually).toEqual(['entered']);
  expect(await inbox()).toHaveLength(2);

  for (const job of await takeIn(first)) await end(job, first);
  const second = (await addRun(FIRING + HOUR, { approve: false })) as BatchId;
  await expect.poll(() => world.gate.inspectBatch(second), eventually).toMatchObject({ approved: false });
  await world.gate.cancelBatch(second, 'ann');
  await expect.poll(() => results, eventually).toEqual(['entered', 'entered']);
  expect(await inbox()).toEqual([]);
});

test('a URL that was deferred joins the next run under its id, and is not entered beside itself', async () => {
  await start(FILE);
  const first = await addRun(FIRING);
  await expect.poll(() => results, eventually).toEqual(['entered']);
  const [deferred, other] = await takeIn(first);
  await defer(deferred, first as BatchId);
  await end(other, first);
  // overlap: skip, and the run before is over: what is left of it was deferred.
  const second = await addRun(FIRING + HOUR);
  await expect.poll(() => results, eventually).toEqual(['entered', 'entered']);
  expect(await inbox()).toEqual([{ url: 'https://b.test/', batch: second }]);
  expect(await world.gate.inspectJob(deferred ?? ('' as JobId))).toMatchObject({
    batch: second,
    facts: { attempts: 1, deferrals: 1, run: 2 },
  });
  expect((await world.queue.getJob(String(deferred)))?.data).toMatchObject({ batch: second, bornIn: first });
  expect(await world.gate.inspectBatch(first as BatchId)).toMatchObject({ away: 0, movedOn: 1 });
  // Taken along a second time: it keeps the id of its first run.
  await world.redis.del(world.names.inbox);
  await defer(deferred, second as BatchId);
  const third = await addRun(FIRING + 2 * HOUR);
  await expect.poll(() => results, eventually).toEqual(['entered', 'entered', 'entered']);
  expect((await world.queue.getJob(String(deferred)))?.data).toMatchObject({ batch: third, bornIn: first });
});

test('a firing that is due survives a restart, and comes once', async () => {
  const parsed = parseScheduleFile(FILE, 's.yaml');
  const schedules = parsed.kind === 'ok' ? parsed.schedules : [];
  await syncSchedules(queue, schedules, folder, Date.now());
  const known = await queue.getJobScheduler('n');
  const due = `repeat:n:${known?.next}`;
  await (await queue.getJob(due))?.changeDelay(0);
  // What a restart does: the same file, and the same one with a change.
  expect(await syncSchedules(queue, schedules, folder, Date.now())).toEqual([]);
  const later = { ...SCHEDULE, owner: 'bob' };
  expect(await syncSchedules(queue, [later], folder, (known?.next ?? 0) + 1)).toEqual(['n']);
  expect(await queue.getJob(due)).toBeDefined();
  await start(FILE);
  await expect.poll(() => results, eventually).toEqual(['entered']);
  await expect.poll(async () => (await queue.getJobScheduler('n'))?.next, eventually).not.toBe(known?.next);
});

test('what the file no longer names does not fire any more', async () => {
  await syncSchedules(queue, [SCHEDULE, { ...SCHEDULE, name: 'old' }], folder, Date.now());
  await syncSchedules(queue, [SCHEDULE], folder, Date.now());
  expect((await queue.getJobSchedulers()).map(({ key }) => key)).toEqual(['n']);
  expect(await queue.getDelayedCount()).toBe(1);
});

test('a file with a fault keeps a scheduler from starting, and says what is wrong', async () => {
  await expect(start('schedules:\n  - { name: n, cron: daily, list: a }\n')).rejects.toThrow(
    /^schedules\.yaml:2: schedules\.0\.cron: "daily" must be a cron line/,
  );
});
