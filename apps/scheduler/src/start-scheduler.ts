import { Registry } from 'prom-client';
import {
  EventLoopLag,
  type Logger,
  OrderedShutdown,
  collectProcessMetrics,
  createLogger,
  startMetricsServer,
} from '@holdoff/service-runtime';
import { EnqueueClient } from '@holdoff/url-job';
import type { SchedulerConfig } from './config.ts';
import { enterThroughGate } from './enter-through-gate.ts';
import { InboxConsumer } from './inbox/consume-inbox.ts';
import { InboxStream } from './inbox/inbox-stream.ts';
import { IntakePressure } from './intake-pressure.ts';
import { FleetPolicy } from './fleet-policy.ts';
import { PolicyPublisher } from './policy-publisher.ts';
import { RedisWatch } from './redis-watch.ts';
import { SchedulerMetrics } from './scheduler-metrics.ts';
import { RecurringWork } from './schedules/recurring-work.ts';
import { createWheel } from './wheel.ts';
import { openStores, type Stores } from './stores.ts';
import { startUpkeep } from './upkeep.ts';

/** No turn of the intake for this long, with Redis there: the process is stuck. */
const STUCK_MS = 120_000;

/** Builds a scheduler process, starts it and leaves it to its signals. */
export async function startScheduler(config: SchedulerConfig): Promise<void> {
  const logger = createLogger({
    service: 'scheduler',
    instance: config.SCHEDULER_ID,
    level: config.LOG_LEVEL,
  });
  const registry = new Registry();
  const metrics = new SchedulerMetrics(registry);
  const shutdown = new OrderedShutdown({ logger });
  shutdown.listen();
  const stores = await openStores(config, (error) => {
    metrics.fault('redis');
    logger.debug('connection to Redis', { error });
  });
  const watch = new RedisWatch({
    redis: stores.redis,
    logger,
    clockSkewMsMax: config.CLOCK_SKEW_MAX_MS,
  });
  await watch.look();
  const publisher = await startPublisher(config, stores, logger);
  const policy = await FleetPolicy.follow(stores.gateRedis, config.HOLDOFF_DEPLOYMENT, logger);
  const { intake, stream, pressure } = createIntake({ config, stores, policy, watch, metrics, logger });
  const recurring = await startRecurring(config, stores, policy, metrics, logger);
  const wheel = createWheel(stores, metrics, logger);
  const upkeep = startUpkeep(config, { stores, stream, pressure, watch, metrics, logger });

  collectProcessMetrics(registry);
  const lag = new EventLoopLag(registry);
  const server = await startMetricsServer({
    host: config.METRICS_HOST,
    port: config.METRICS_PORT,
    registry,
    checks: [
      { name: 'redis', check: () => watch.problem },
      { name: 'gate', check: () => stores.gate.now().then(() => null) },
      { name: 'policy', check: () => publisher?.problem ?? null },
      { name: 'schedules', check: () => recurring?.problem ?? null },
    ],
    progress: () => stuckProblem(stores, intake),
  });
  intake.start();
  wheel.start();
  logger.info('started', {
    deployment: config.HOLDOFF_DEPLOYMENT,
    server: watch.server,
    metricsPort: server.port,
    policyVersion: policy.version,
  });

  shutdown.add(
    { name: 'unready', withinMs: 100, run: () => server.drain() },
    { name: 'intake', withinMs: 10_000, run: () => intake.stop() },
    { name: 'recurring', withinMs: 10_000, run: () => recurring?.stop() },
    { name: 'wheel', withinMs: 2_000, run: () => wheel.stop() },
    { name: 'upkeep', withinMs: 5_000, run: () => upkeep.stop() },
    { name: 'publisher', withinMs: 2_000, run: () => publisher?.stop() },
    { name: 'policy', withinMs: 2_000, run: () => policy.close() },
    { name: 'stores', withinMs: 2_000, run: () => stores.close() },
    { name: 'lag', withinMs: 100, run: () => lag.stop() },
    { name: 'metrics', withinMs: 2_000, run: () => server.close() },
  );
}

interface IntakeParts {
  readonly config: SchedulerConfig;
  readonly stores: Stores;
  readonly policy: FleetPolicy;
  readonly watch: RedisWatch;
  readonly metrics: SchedulerMetrics;
  readonly logger: Logger;
}

function createIntake({ config, stores, policy, watch, metrics, logger }: IntakeParts): {
  readonly intake: InboxConsumer;
  readonly stream: InboxStream;
  readonly pressure: IntakePressure;
} {
  const stream = new InboxStream({
    redis: stores.redis,
    names: stores.names,
    consumer: config.SCHEDULER_ID,
    claimIdleMs: config.INBOX_CLAIM_AFTER_MS,
    rejectedKept: config.REJECTED_KEPT,
  });
  const pressure = new IntakePressure(stores.redis, stores.queue, {
    backlogMax: config.BACKLOG_MAX,
    memoryShareMax: config.MEMORY_SHARE_MAX,
  });
  const client = new EnqueueClient({
    queue: stores.queue,
    enter: enterThroughGate(stores.gate, policy),
    nowMs: Date.now,
  });
  const intake = new InboxConsumer({
    stream,
    client,
    logger,
    events: metrics,
    batchMax: config.INBOX_BATCH,
    pressure: () => watch.problem ?? pressure.problem,
  });
  return { intake, stream, pressure };
}

function stuckProblem(stores: Stores, intake: InboxConsumer): string | null {
  if (stores.redis.status !== 'ready' || intake.idleMs <= STUCK_MS) return null;
  return `no turn of the intake for ${STUCK_MS} ms`;
}

/** Without a file of its own a scheduler publishes nothing, so that it cannot undo what another one has published. */
async function startPublisher(
  config: SchedulerConfig,
  stores: Stores,
  logger: Logger,
): Promise<PolicyPublisher | undefined> {
  if (config.POLICY_FILE === '') return undefined;
  const publisher = new PolicyPublisher({
    path: config.POLICY_FILE,
    redis: stores.gateRedis,
    deployment: config.HOLDOFF_DEPLOYMENT,
    by: config.SCHEDULER_ID,
    logger,
  });
  await publisher.start();
  return publisher;
}

async function startRecurring(
  config: SchedulerConfig,
  { redis, names, gate, queue: urlQueue }: Stores,
  policies: FleetPolicy,
  metrics: SchedulerMetrics,
  logger: Logger,
): Promise<RecurringWork | undefined> {
  if (config.SCHEDULES_FILE === '') return undefined;
  const path = config.SCHEDULES_FILE;
  const recurring = new RecurringWork({ path, redis, names, gate, urlQueue, policies, metrics, logger });
  await recurring.start();
  return recurring;
}
