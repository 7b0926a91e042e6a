import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type HostDescriptionInput, type SampleOrigin, startSampleOrigin } from '@holdoff/sample-origin';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import type { BatchId, BatchSnapshot, Gate, HostKey } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady, publishPolicy } from '@holdoff/throttle-core/redis';
import { queueNames, urlJobId } from '@holdoff/url-job';
import { keysByEntry } from './documented-keys.ts';

/** A line of results.jsonl. */
interface ResultLine {
  readonly key: string;
  readonly job: string;
  readonly url: string;
  readonly outcome: 'done' | 'stopped';
  readonly reason: string | null;
  readonly status: number;
  readonly attempts: number;
  readonly detail: string;
  readonly useful: boolean;
  readonly data: unknown;
}

export interface FleetOptions {
  readonly hosts: readonly HostDescriptionInput[];
  /** YAML; hosts are written by name as `HOST:name` and become addresses. */
  readonly policy: string;
  readonly workers?: number;
  readonly schedulers?: number;
  readonly environment?: Readonly<Record<string, string>>;
  /** Keeps what the processes log, for `logged`, in place of showing it. */
  readonly keepLogs?: boolean;
}

/** A real fleet on this machine: Redis, an origin, scheduler and worker processes, judged from outside. */
export interface Fleet {
  readonly redis: LocalRedis;
  readonly client: Redis;
  readonly gate: Gate;
  readonly origin: SampleOrigin;
  readonly workers: readonly ChildProcess[];
  /** Of this fleet alone; the results are below it, in `results`. */
  readonly folder: string;
  /** Address of a host of the origin, which is also its throttling scope. */
  hostKey(name: string): HostKey;
  url(name: string, path: string): string;
  enqueue(batch: string, urls: readonly string[], fields?: Readonly<Record<string, string>>): Promise<void>;
  jobId(batch: string, url: string): string;
  /** Waits until all URLs of a batch have ended. */
  ended(batch: string, count: number, withinMs?: number): Promise<BatchSnapshot>;
  until<T>(what: string, look: () => Promise<T | undefined>, withinMs?: number): Promise<T>;
  results(batch: string): Promise<readonly ResultLine[]>;
  startWorker(environment?: Readonly<Record<string, string>>): ChildProcess;
  /** Starts a worker under this name and waits until it listens to the queue. */
  workerNamed(
    name: string,
    environment?: Readonly<Record<string, string>>,
    /** Takes the process at once, whatever comes of it. */
    started?: ChildProcess[],
  ): Promise<ChildProcess>;
  /** Ends a process as a deploy would; one that is frozen is killed. */
  end(child: ChildProcess): Promise<void>;
  /** Everything that the processes have logged, with `keepLogs`. */
  logged(): string;
  /** Ends everything. Rejects when a key was left in Redis that docs/redis-keys.md does not list. */
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 25;
/** Many processes that start at once on a busy machine take their time. */
const READY_WITHIN_MS = 150_000;

export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const folder = await mkdtemp(join(tmpdir(), 'holdoff-story-'));
  const redis = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: true });
  const origin = await startSampleOrigin({ hosts: [...options.hosts] });
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  const decisions = connectGate({ url: redis.url, commandDeadlineMs: 5_000 });
  decisions.on('error', () => undefined);
  client.on('error', () => undefined);
  await gateReady(decisions, 10_000);
  const gate = createRedisGate({ redis: decisions });
  const names = queueNames();
  const hostKey = (name: string): HostKey => new URL(origin.urlOf(name)).hostname as HostKey;
  const policy = options.policy.replaceAll(/HOST:([\w-]+)/g, (_, name: string) => hostKey(name));
  const published = await publishPolicy(client, {
    text: policy,
    name: 'story.yaml',
    by: 'story',
    tag: 'holdoff',
  });
  if (published.kind === 'refused')
    throw new Error(`bad story policy: ${JSON.stringify(published.problems)}`);

  const children: ChildProcess[] = [];
  const kept: Buffer[] = [];
  const shared = { REDIS_URL: redis.url, METRICS_PORT: '0', LOG_LEVEL: process.env['STORY_LOG'] ?? 'error' };
  const start = (app: string, environment: Readonly<Record<string, string>>): ChildProcess => {
    const child = spawn(process.execPath, ['--enable-source-maps', `apps/${app}/dist/main.js`], {
      env: { ...process.env, ...shared, ...options.environment, ...environment },
      stdio: options.keepLogs === true ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
    });
    child.stdout?.on('data', (text: Buffer) => kept.push(text));
    child.stderr?.on('data', (text: Buffer) => kept.push(text));
    children.push(child);
    return child;
  };
  const startWorker = (environment: Readonly<Record<string, string>> = {}): ChildProcess =>
    start('worker', {
      RESULTS_DIR: join(folder, 'results'),
      ALLOW_NETWORKS: '127.0.0.0/8',
      TRACE_HEADERS: 'on',
      LOCK_MS: '4000',
      STALLED_CHECK_MS: '1000',
      ...environment,
    });
  for (let n = 0; n < (options.schedulers ?? 1); n += 1) start('scheduler', {});
  const workers = Array.from({ length: options.workers ?? 1 }, () => startWorker());

  async function until<T>(what: string, look: () => Promise<T | undefined>, withinMs = 60_000): Promise<T> {
    const giveUpAt = performance.now() + withinMs;
    for (;;) {
      const seen = await look();
      if (seen !== undefined) return seen;
      if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  await until(
    'the workers listen to the queue',
    async () => {
      const connected = String(await client.client('LIST')).match(/ name=\S*:w:/g)?.length ?? 0;
      return connected >= workers.length ? true : undefined;
    },
    READY_WITHIN_MS,
  );

  return {
    redis,
    client,
    gate,
    origin,
    workers,
    folder,
    hostKey,
    url: (name, path) => `${origin.urlOf(name)}${path}`,
    async enqueue(batch, urls, fields = {}) {
      const pipeline = client.pipeline();
      for (const url of urls)
        pipeline.xadd(names.inbox, '*', 'url', url, 'batch', batch, ...Object.entries(fields).flat());
      await pipeline.exec();
    },
    jobId: (batch, url) => urlJobId({ url, batch, method: 'GET' }),
    ended: (batch, count, withinMs) =>
      until(
        `${count} URLs of ${batch} ended`,
        async () => {
          const snapshot = await gate.inspectBatch(batch as BatchId).catch(() => undefined);
          return snapshot !== undefined && snapshot.jobs.done + snapshot.jobs.stopped >= count
            ? snapshot
            : undefined;
        },
        withinMs,
      ),
    until,
    async results(batch) {
      const text = await readFile(join(folder, 'results', 'results.jsonl'), 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as ResultLine & { batch: string })
        .filter((line) => line.batch === batch);
    },
    startWorker,
    async workerNamed(name, environment = {}, started = []) {
      const child = startWorker({ ...environment, WORKER_ID: name });
      started.push(child);
      await until(
        `${name} listens to the queue`,
        async () =>
          child.signalCode !== null || String(await client.client('LIST')).includes(`:w:${name} `)
            ? true
            : undefined,
        READY_WITHIN_MS,
      );
      return child;
    },
    end,
    logged: () => Buffer.concat(kept).toString(),
    async stop() {
      const left = client.status === 'ready' ? await keysByEntry(client) : undefined;
      await Promise.all(children.map(end));
      client.disconnect();
      decisions.disconnect();
      await origin.stop();
      await redis.stop();
      await rm(folder, { recursive: true, force: true });
      if (left !== undefined && left.unknown.length > 0)
        throw new Error(`docs/redis-keys.md does not list ${left.unknown.slice(0, 10).join(', ')}`);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(timer);
}
