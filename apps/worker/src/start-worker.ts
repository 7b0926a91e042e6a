import { Worker } from 'bullmq';
import { Registry } from 'prom-client';
import {
  collectProcessMetrics,
  createLogger,
  EventLoopLag,
  type Logger,
  type MetricsServer,
  OrderedShutdown,
  type ShutdownStep,
  startMetricsServer,
} from '@holdoff/service-runtime';
import { type JobId, WheelTimer } from '@holdoff/throttle-core';
import { promoteCalled, publishProxyPools } from '@holdoff/url-job';
import type { AttemptEvents } from './attempt.ts';
import { createAttemptLog, fanOut } from './attempt-log.ts';
import { credentialVariables, listOf, type WorkerConfig } from './config.ts';
import { createFetchPage, type PageFetcher } from './create-fetch-page.ts';
import { probeSinks, type Sink } from './deliver-result.ts';
import { DeliveryProbe } from './delivery-probe.ts';
import { drainSteps } from './drain.ts';
import { failAtOf } from './fail-point.ts';
import { createHandler } from './handler/create-handler.ts';
import type { HandlerPool } from './handler/handler-pool.ts';
import { readHeaderSets } from './header-sets.ts';
import { Intake } from './intake.ts';
import { followFleetPolicy } from './policy-view.ts';
import { createProcessor, type ProcessorOptions } from './process-delivery.ts';
import { queueMoves } from './queue-moves.ts';
import { readProxyPools } from './proxy/read-proxy-pools.ts';
import { createSinks } from './sinks/create-sinks.ts';
import { openStores, type Stores } from './stores.ts';
import { watchSurroundings } from './watch-surroundings.ts';
import { createWorkerMetrics } from './worker-metrics.ts';
import { productTokenOf } from './robots/product-token.ts';
import { createWorkerParts, type PartsInput } from './worker-parts.ts';

const PROBE_EVERY_MS = 5_000;
const WHEEL = { hostsMax: 50, jobsMax: 500, idleMs: 5_000 } as const;
/** A lifetime count in BullMQ: deploys and crashes add up. The ledger is what bounds a job. */
const STALLS_MAX = 1_000;

/** Builds a worker process, starts it and leaves it to its signals. */
export async function startWorker(config: WorkerConfig): Promise<void> {
  const logger = createLogger({ service: 'worker', instance: config.WORKER_ID, level: config.LOG_LEVEL });
  // First of all, as with every setting: a handler that cannot be loaded is one line and no start.
  const handler = await createHandler(config);
  const registry = new Registry();
  const shutdown = new OrderedShutdown({ logger });
  const stores = await openStores(config);
  const policy = await followFleetPolicy(stores.queueRedis, config.HOLDOFF_DEPLOYMENT, logger);
  const sinks = await createSinks(config, stores.gateRedis);
  const { proxies, pools } = await readProxyPools(config.PROXIES_FILE, credentialVariables());
  if (pools.size > 0) await publishProxyPools(stores.queueRedis, stores.names, pools);
  const fetcher = createFetchPage({
    addresses: {
      allowedNetworks: listOf(config.ALLOW_NETWORKS),
      extraPorts: listOf(config.ALLOW_PORTS).map(Number),
      extraPortsOf: (hostname) => policy.view.scopeOfHost(hostname).settings.allowPorts,
    },
    proxies,
    userAgent: config.USER_AGENT,
  });
  const cut = new AbortController();
  const wheel = startableWheel(stores, logger);
  const metrics = createWorkerMetrics(registry);
  const reactions: Pick<AttemptEvents, 'deliveryFault' | 'waited'> = {
    deliveryFault: () => probe.fault(),
    waited: ({ gateNowMs }) => surroundings.gateSaid(gateNowMs),
  };
  const events = fanOut([metrics, createAttemptLog(logger), { ...SILENT, ...reactions }]);
  const parts = createWorkerParts({
    ...settingsOf(config),
    resultsId: sinks.resultsId,
    stores,
    policy: policy.view,
    fetcher,
    sinks: sinks.all,
    handler,
    events,
    call: promoter(stores, logger),
    wheel,
    pools,
    headerSets: await readHeaderSets(config.HEADERS_FILE),
  });
  const processing = { parts, logger, inFlight: metrics.inFlight, cut: cut.signal };
  const worker = createQueueWorker(config, stores, processing);
  reportTo(logger, worker);
  const intake = new Intake(worker, logger);
  const probe = new DeliveryProbe({
    probe: () => probeSinks(sinks.all),
    everyMs: PROBE_EVERY_MS,
    onFault: () => intake.pause('results', 'results cannot be written'),
    onHealed: () => intake.resume('results'),
  });
  const surroundings = await watchSurroundings(config, stores, intake, logger);
  collectProcessMetrics(registry);
  const lag = new EventLoopLag(registry);
  const server = await serve(config, registry, intake, stores);

  shutdown.add(
    ...drainSteps({ graceMs: config.SHUTDOWN_GRACE_MS, server, worker, wheel, cut, parts, logger }),
    closeStep([surroundings, probe, lag, policy], { fetcher, handler, sinks: sinks.all, stores, server }),
  );
  shutdown.listen();
  worker.run().catch((error: unknown) => void shutdown.stop(`the queue worker ended: ${String(error)}`, 1));
  wheel.start();
  logger.info('started', {
    metricsPort: server.port,
    policyVersion: policy.view.version,
    concurrency: config.WORKER_CONCURRENCY,
  });
}

function settingsOf(
  config: WorkerConfig,
): Pick<
  PartsInput,
  'workerId' | 'deployment' | 'productToken' | 'followMax' | 'stoppedKept' | 'traceHeaders' | 'failAt'
> {
  return {
    workerId: config.WORKER_ID,
    deployment: config.HOLDOFF_DEPLOYMENT,
    productToken: productTokenOf(config.USER_AGENT) ?? '',
    followMax: config.FOLLOW_MAX,
    stoppedKept: config.STOPPED_KEPT,
    traceHeaders: config.TRACE_HEADERS === 'on',
    failAt: failAtOf(config),
  };
}

function serve(
  config: WorkerConfig,
  registry: Registry,
  intake: Intake,
  stores: Stores,
): Promise<MetricsServer> {
  return startMetricsServer({
    host: config.METRICS_HOST,
    port: config.METRICS_PORT,
    registry,
    checks: [
      { name: 'intake', check: () => intake.causes[0] ?? null },
      { name: 'gate', check: stores.reachable },
    ],
  });
}

function closeStep(
  stoppables: readonly { stop(): void | Promise<void> }[],
  parts: {
    readonly fetcher: PageFetcher;
    readonly handler: HandlerPool | null;
    readonly sinks: readonly Sink[];
    readonly stores: Stores;
    readonly server: MetricsServer;
  },
): ShutdownStep {
  return {
    name: 'close',
    withinMs: 5_000,
    run: async () => {
      for (const part of stoppables) await part.stop();
      parts.fetcher.close();
      await parts.handler?.close();
      for (const sink of parts.sinks) await sink.close();
      await parts.stores.close();
      await parts.server.close();
    },
  };
}

const SILENT = { attempt: () => undefined, ended: () => undefined };

function createQueueWorker(
  config: WorkerConfig,
  stores: Stores,
  options: Omit<ProcessorOptions, 'moves'>,
): Worker {
  const processor = createProcessor({ ...options, moves: queueMoves(stores) });
  return new Worker(stores.names.queue, processor, {
    connection: stores.queueRedis,
    prefix: stores.names.prefix,
    name: config.WORKER_ID,
    concurrency: config.WORKER_CONCURRENCY,
    lockDuration: config.LOCK_MS,
    stalledInterval: config.STALLED_CHECK_MS,
    maxStalledCount: STALLS_MAX,
    autorun: false,
  });
}

function startableWheel(stores: Stores, logger: Logger): WheelTimer {
  const call = promoter(stores, logger);
  return new WheelTimer({
    ...WHEEL,
    gate: stores.gate,
    call,
    // An expired job is handed to a worker like any other: admission ends it, and its result says so.
    expire: call,
    onError: (error) => logger.warn('the wheel could not be looked at', { error }),
  });
}

/** Promotes called jobs. A miss is no fault: the gate calls again what did not show up. */
function promoter({ queue }: Stores, logger: Logger): (jobs: readonly JobId[]) => Promise<void> {
  return async (jobs) => {
    if (jobs.length === 0) return;
    try {
      await promoteCalled(queue, jobs);
    } catch (error) {
      logger.warn('called jobs were not promoted', { jobs: jobs.length, error });
    }
  };
}

/** A job whose lock is gone belongs to another worker: its request is cut here, and the gate refuses its result. */
function reportTo(logger: Logger, worker: Worker): void {
  worker.on('error', (error) => logger.warn('queue', { error }));
  worker.on('lockRenewalFailed', (jobs: string[]) => {
    for (const job of jobs) worker.cancelJob(job, 'lock lost');
    logger.warn('locks lost', { jobs: jobs.length });
  });
}
