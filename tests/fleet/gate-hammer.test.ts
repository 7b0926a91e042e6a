import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BatchId, HostKey, HostRules, JobId } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady } from '@holdoff/throttle-core/redis';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PROCESSES = 5;
const JOBS = 240;
const TOKENS = 60;
const RUN_MS = 45_000;
const ENOUGH = 220;
const BATCH = 'hammer' as BatchId;
const WORKER = fileURLToPath(new URL('fixtures/gate-hammer-worker.ts', import.meta.url));

const RULES: HostRules = {
  concurrency: 3,
  paceIntervalMs: 0,
  learn: null,
  circuit: { responsesMax: 3, eventsMax: 2, openMs: 40, growth: 1, openMostMs: 40 },
  ramp: null,
  hostTokens: null,
  attemptMs: 300,
  headroomMs: 0,
  leaseMarginMs: 100,
  inlineMaxMs: 20,
};

let server: LocalRedis;
beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
});
afterAll(() => server.stop());

/** One request as its worker saw it, on Redis' clock. */
interface Use {
  readonly host: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly admittedAtMs: number;
  readonly leaseMs: number;
  readonly probe: boolean;
}

/** The most requests at one host at once, without holders that were frozen past the end of their lease. */
function mostAtOnce(uses: readonly Use[]): number {
  const held = uses.filter(({ toMs, admittedAtMs, leaseMs }) => toMs < admittedAtMs + leaseMs);
  const counts = held.map(
    (one) =>
      held.filter((other) => other.host === one.host && other.fromMs <= one.fromMs && one.fromMs < other.toMs)
        .length,
  );
  return Math.max(0, ...counts);
}

async function runWorker(seed: number): Promise<number> {
  const args = [
    '--conditions=holdoff-source',
    WORKER,
    server.url,
    String(seed),
    String(RUN_MS),
    String(ENOUGH),
  ];
  const worker = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(worker, 'exit')) as [number];
  return code;
}

it('holds slots, probes, cooldowns, tokens and sums while several processes use it at once, some of them dying', async () => {
  const redis = connectGate({ url: server.url, commandDeadlineMs: 10_000 });
  await gateReady(redis, 10_000);
  const gate = createRedisGate({ redis });
  const jobs = Array.from({ length: JOBS }, (_, number) => `j_${String(number).padStart(8, '0')}` as JobId);
  await redis.mset('hammer:rules', JSON.stringify(RULES), 'hammer:jobs', JOBS);
  await gate.enter({
    batch: BATCH,
    batchDefaults: {
      tokens: { kind: 'fixed', total: TOKENS },
      approved: true,
      owner: 'tests',
      deadlineMs: 0,
      spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
    },
    jobs: jobs.map((job, number) => ({
      job,
      host: `h${number % 2}.example` as HostKey,
      rules: RULES,
      priority: 50,
      notBeforeMs: 0,
      deadlineMs: 0,
    })),
  });

  const codes = await Promise.all(Array.from({ length: PROCESSES }, (_, index) => runWorker(index + 1)));

  const sent = Number(await redis.get('hammer:sent'));
  const violations = await redis.lrange('hammer:violations', 0, 20);
  const uses = (await redis.lrange('hammer:uses', 0, -1)).map((each) => JSON.parse(each) as Use);
  const batch = await gate.inspectBatch(BATCH);
  const ledgers = await Promise.all(jobs.map((job) => gate.inspectJob(job)));
  const attempts = ledgers.map((ledger) => ledger?.facts.attempts ?? 0);
  const sum = attempts.reduce((total, each) => total + each, 0);
  const resends = attempts.reduce((total, each) => total + Math.max(0, each - 1), 0);
  const opens = (await gate.inspectHost('h0.example' as HostKey))?.circuit.generation ?? 0;
  const inFlight = mostAtOnce(uses);
  const probes = mostAtOnce(uses.filter(({ probe }) => probe));
  const numbers = { sent, sum, resends, opens, inFlight, probes, uses: uses.length, batch };
  redis.disconnect();

  expect(codes, JSON.stringify(numbers)).toEqual(Array(PROCESSES).fill(0));
  expect(violations, JSON.stringify(numbers)).toEqual([]);
  expect(inFlight, JSON.stringify(numbers)).toBeLessThanOrEqual(RULES.concurrency);
  expect(probes, JSON.stringify(numbers)).toBe(1);
  expect(sent, JSON.stringify(numbers)).toBeLessThanOrEqual(JOBS + TOKENS);
  expect({ sum, resends }, JSON.stringify(numbers)).toEqual({
    sum: batch?.attempts,
    resends: batch?.tokens?.spent,
  });
  expect(sent, JSON.stringify(numbers)).toBe(sum);
  // The run must have come to what it is about.
  expect(resends, JSON.stringify(numbers)).toBeGreaterThan(0);
  expect(opens, JSON.stringify(numbers)).toBeGreaterThan(0);
  expect(Math.max(...attempts), JSON.stringify(numbers)).toBeLessThanOrEqual(4);
}, 120_000);
