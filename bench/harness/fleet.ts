import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalRedis } from '@holdoff/service-runtime';
import type { BatchId, Gate } from '@holdoff/throttle-core';
import { createRedisGate } from '@holdoff/throttle-core/redis';
import { openUrlQueue, queueNames, type UrlQueue } from '@holdoff/url-job';
import { Child } from './child.ts';
import { ROOT } from './root.ts';
import { type Store, openStore } from './store.ts';

export interface FleetOptions {
  /** Port of the origin: fleets refuse loopback and odd ports unless told. */
  readonly originPort: number;
  /** YAML; empty: the balanced preset as it is. */
  readonly policy?: string;
  /** Jobs at once in each worker process. */
  readonly concurrency: number;
}

/** A bound against hanging, far above the second or two that a start takes on a free machine. */
const READY_WITHIN_MS = 120_000;
const XADD_AT_ONCE = 1_000;

/** CPU time since the fleet began to work, s. */
export interface FleetCost {
  readonly workers: number | null;
  readonly scheduler: number | null;
  readonly redis: number;
}

/**
 * The built product as it is deployed: a scheduler and worker processes on a Redis with an append-only file, entered
 * through the inbox. Nothing here reaches into it; what it did is read from the origin and from the result files.
 */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #redis: LocalRedis;
  #running: Running | null = null;
  /** Every process ever started, so that a start that fails half-way leaves none behind. */
  readonly #children: Child[] = [];
  #workers: Service[] = [];

  constructor(options: FleetOptions, redis: LocalRedis) {
    this.#options = options;
    this.#redis = redis;
  }

  /** Starts a scheduler; workers come when they are asked for. */
  async start(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'holdoff-bench-fleet-'));
    const policyFile = join(folder, 'policy.yaml');
    await writeFile(policyFile, this.#options.policy ?? 'preset: balanced\n');
    const store = await openStore(this.#redis.url);
    const scheduler = await this.#startService('scheduler', join(folder, 'scheduler.log'), {
      REDIS_URL: this.#redis.url,
      POLICY_FILE: policyFile,
    });
    const queue = openUrlQueue(store.redis, queueNames());
    queue.on('error', () => undefined);
    this.#running = { folder, store, scheduler, queue, gate: createRedisGate({ redis: store.redis }) };
  }

  /** Adds worker processes and waits until they take jobs. */
  async startWorkers(count: number): Promise<void> {
    const { folder } = this.#parts();
    const from = this.#children.length;
    const started = Array.from({ length: count }, (_, n) =>
      this.#startService('worker', join(folder, `worker-${from + n}.log`), {
        REDIS_URL: this.#redis.url,
        WORKER_ID: `bench-${from + n}`,
        WORKER_CONCURRENCY: String(this.#options.concurrency),
        RESULTS_DIR: join(folder, `results-${from + n}`),
        ALLOW_NETWORKS: '127.0.0.0/8',
        ALLOW_PORTS: String(this.#options.originPort),
        TRACE_HEADERS: 'on',
      }),
    );
    this.#workers.push(...(await Promise.all(started)));
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.#workers.map(({ child }) => child.stop()));
    this.#workers = [];
  }

  /** Writes URLs to the inbox, as any producer does. */
  async addToInbox(batch: string, urls: readonly string[]): Promise<void> {
    const { inbox } = queueNames();
    for (let from = 0; from < urls.length; from += XADD_AT_ONCE) {
      const pipeline = this.#parts().store.redis.pipeline();
      for (const url of urls.slice(from, from + XADD_AT_ONCE)) {
        pipeline.xadd(inbox, '*', 'url', url, 'batch', batch);
      }
      await pipeline.exec();
    }
  }

  /** Through the inbox, until the scheduler has entered all of them; answers the seconds it took. */
  async enter(batch: string, urls: readonly string[], withinMs = 60_000): Promise<number> {
    const startedMs = performance.now();
    await this.addToInbox(batch, urls);
    const entered = await this.#until(batch, withinMs, ({ total }) => total >= urls.length);
    if (!entered) throw new Error(`the scheduler did not enter ${urls.length} URLs within ${withinMs} ms`);
    return (performance.now() - startedMs) / 1000;
  }

  /** True when as many jobs of the batch have ended in time. */
  ended(batch: string, jobs: number, withinMs: number): Promise<boolean> {
    return this.#until(batch, withinMs, ({ done, stopped }) => done + stopped >= jobs);
  }

  async progress(batch: string): Promise<Progress> {
    const found = await this.#parts().gate.inspectBatch(batch as BatchId);
    return found?.jobs ?? { total: 0, done: 0, stopped: 0 };
  }

  /** The workers take nothing more; what they have they finish. */
  async pauseQueue(): Promise<void> {
    await this.#parts().queue.pause();
  }

  async resumeQueue(): Promise<void> {
    await this.#parts().queue.resume();
  }

  /** How often workers took a job of this batch from the queue: the number of each job's last delivery. */
  async deliveries(batch: string): Promise<number> {
    const { redis } = this.#parts().store;
    let sum = 0;
    for await (const keys of redis.scanStream({ match: `${queueNames().prefix}:job:*`, count: 1_000 })) {
      sum += Number(
        await redis.eval(SUM_DELIVERIES, (keys as string[]).length, ...(keys as string[]), batch),
      );
    }
    return sum;
  }

  /** Calls of the gate's scripts so far: each asks Redis for the time once, and hardly anybody else does. */
  async gateCalls(): Promise<number> {
    const text = await this.#parts().store.redis.info('commandstats');
    return Number(/^cmdstat_time:calls=(\d+)/m.exec(text)?.[1] ?? 0);
  }

  async cost(): Promise<FleetCost> {
    const workers = await Promise.all(this.#workers.map(({ child }) => child.cpuSeconds()));
    return {
      workers: workers.includes(null) ? null : workers.reduce<number>((sum, one) => sum + (one ?? 0), 0),
      scheduler: await this.#parts().scheduler.child.cpuSeconds(),
      redis: await this.#parts().store.cpuSeconds(),
    };
  }

  /** Commands that Redis has run, and memory that its data takes. */
  redisFigures(): ReturnType<Store['figures']> {
    return this.#parts().store.figures();
  }

  /** Resident memory of the workers, bytes. */
  async workersRssBytes(): Promise<number | null> {
    const all = await Promise.all(this.#workers.map(({ child }) => child.rssBytes()));
    return all.includes(null) ? null : all.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  }

  /** Times that a job had to leave a worker and come back, by the workers' own metrics. */
  async hops(): Promise<number> {
    const texts = await Promise.all(this.#workers.map(({ port }) => scrape(port)));
    return texts.reduce((sum, text) => sum + sumOf(text, 'holdoff_waits_total', 'inline="false"'), 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.stop()));
    await this.#running?.store.close();
    if (this.#running !== null) await rm(this.#running.folder, { recursive: true, force: true });
  }

  #parts(): Running {
    if (this.#running === null) throw new Error('the fleet has not been started');
    return this.#running;
  }

  async #startService(
    app: 'worker' | 'scheduler',
    outputFile: string,
    env: Readonly<Record<string, string>>,
  ): Promise<Service> {
    const port = await freePort();
    const child = new Child(`the ${app}`, {
      args: [join(ROOT, `apps/${app}/dist/main.js`)],
      env: { ...env, METRICS_PORT: String(port) },
      outputFile,
    });
    this.#children.push(child);
    const giveUpAt = performance.now() + READY_WITHIN_MS;
    while (performance.now() < giveUpAt && child.alive) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      if (answer?.ok === true) return { child, port };
      await sleep(50);
    }
    await child.stop();
    const log = await readFile(outputFile, 'utf8').catch(() => '');
    throw new Error(`the ${app} did not get ready:\n${log.split('\n').slice(-20).join('\n')}`);
  }

  async #until(batch: string, withinMs: number, enough: (progress: Progress) => boolean): Promise<boolean> {
    const giveUpAt = performance.now() + withinMs;
    while (performance.now() < giveUpAt) {
      if (enough(await this.progress(batch))) return true;
      await sleep(50);
    }
    return false;
  }
}

/** Ledgers are MessagePack maps: `b` is the batch, `v` the last delivery. */
const SUM_DELIVERIES = `
local sum = 0
for _, key in ipairs(KEYS) do
  local ledger = cmsgpack.unpack(redis.call('GET', key))
  if ledger.b == ARGV[1] then sum = sum + (ledger.v or 0) end
end
return sum`;

interface Progress {
  readonly total: number;
  readonly done: number;
  readonly stopped: number;
}

interface Running {
  readonly folder: string;
  readonly store: Store;
  readonly scheduler: Service;
  readonly gate: Gate;
  readonly queue: UrlQueue;
}

interface Service {
  readonly child: Child;
  /** Of its /metrics and /readyz. */
  readonly port: number;
}

async function scrape(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

/** Sum of a counter's series whose labels contain `label`. */
function sumOf(metrics: string, name: string, label: string): number {
  return metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
