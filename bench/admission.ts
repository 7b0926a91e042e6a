import type { BatchId, HostKey, JobId } from '@holdoff/throttle-core';
import { PRESETS, hostRulesOf } from '@holdoff/throttle-core';
import { connectGate, createRedisGate, gateReady } from '@holdoff/throttle-core/redis';
import type { Bench } from './harness/bench.ts';
import { openStore } from './harness/store.ts';
import { FLOOR_ADMIT, FLOOR_SETTLE, floorCall } from './admission-floor.ts';

const CALLERS = 50;
const ROUNDS = 10;
/** 40 for each host: all are sent to the queue at once, none waits in a lane. */
const PAIRS_A_ROUND = 2_000;
const BARE_A_ROUND = 5_000;
const READY_WITHIN_MS = 10_000;
const DEADLINE_MS = 5_000;
const BATCH = 'admission' as BatchId;
const EMPTY_SCRIPT = 'return 1';

/** The default policy, except that nobody has to wait: that would be measured elsewhere. */
const RULES = {
  ...hostRulesOf(PRESETS.balanced),
  concurrency: CALLERS,
  learn: null,
};

/** Runs `count` calls by 50 callers at once; calls per second and each call's milliseconds. */
async function timed(
  count: number,
  call: (caller: number) => Promise<unknown>,
): Promise<{ readonly perSecond: number; readonly eachMs: readonly number[] }> {
  const eachMs: number[] = [];
  let left = count;
  const caller = async (_: unknown, number: number): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const beganMs = performance.now();
      await call(number);
      eachMs.push(performance.now() - beganMs);
    }
  };
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { perSecond: (count * 1000) / (performance.now() - beganMs), eachMs };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export const bench: Bench = {
  name: 'admission',
  about: `Admissions with their settlements (each pair two script calls: lease, ledger, batch, host, circuit) by ${CALLERS} callers of one process, each at a host of its own, against as many empty scripts, in turns in one run; and what the same Redis commands cost without any decision.`,
  run: async (lab) => {
    const server = await lab.redis();
    const redis = connectGate({ url: server.url, commandDeadlineMs: DEADLINE_MS });
    await gateReady(redis, READY_WITHIN_MS);
    const gate = createRedisGate({ redis });
    const store = await openStore(server.url);
    const load = async (source: string): Promise<string> => String(await redis.script('LOAD', source));
    const sha = await load(EMPTY_SCRIPT);
    const floorShas = [await load(FLOOR_ADMIT), await load(FLOOR_SETTLE)];

    const hostOf = (caller: number): HostKey => `host-${caller}.example` as HostKey;
    let entered = 0;
    const enter = async (count: number): Promise<JobId[]> => {
      const jobs = Array.from({ length: count }, () => {
        entered += 1;
        return `j_${String(entered).padStart(10, '0')}` as JobId;
      });
      const batchDefaults = {
        tokens: { kind: 'share', share: 0.2, least: 10 } as const,
        approved: true,
        owner: 'bench',
        deadlineMs: 0,
        spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
      };
      const deadlineMs = Date.now() + 86_400_000;
      await gate.enter({
        batch: BATCH,
        batchDefaults,
        jobs: jobs.map((job, index) => ({
          job,
          host: hostOf(index % CALLERS),
          rules: RULES,
          priority: 50,
          notBeforeMs: 0,
          deadlineMs,
        })),
      });
      return jobs;
    };

    let refused = 0;
    const admitMs: number[] = [];
    const pair = async (job: JobId, host: HostKey): Promise<void> => {
      const beganMs = performance.now();
      const reply = await gate.admit({
        job,
        host,
        batch: BATCH,
        nonce: `${job}.a`,
        delivery: 1,
        purpose: 'attempt',
        attemptsMax: 10,
        rules: RULES,
      });
      admitMs.push(performance.now() - beganMs);
      if (reply.kind !== 'admitted') {
        refused += 1;
        return;
      }
      await gate.settle({
        job,
        host,
        batch: BATCH,
        nonce: `${job}.s`,
        delivery: 1,
        leaseId: reply.leaseId,
        outcome: 'served',
        hostEffect: { cooldownUntilMs: 0, noHint: false, hold: null, rateLimit: null },
        jobEffect: { kind: 'done' },
        rules: RULES,
        spent: { requests: 1, bytes: 20_000, costMicros: 0 },
        latencyMs: 120,
        evidence: '200 OK',
      });
    };

    let floors = 0;
    const floorPair = async (caller: number): Promise<void> => {
      floors += 1;
      const { keys, args } = floorCall(`j_${String(floors).padStart(10, '0')}`, hostOf(caller));
      for (const floorSha of floorShas) await redis.evalsha(floorSha, keys.length, ...keys, ...args);
    };

    const bare: number[] = [];
    const floor: number[] = [];
    const pairs: number[] = [];
    let scriptSeconds = 0;
    for (let round = 0; round <= ROUNDS; round += 1) {
      const jobs = await enter(PAIRS_A_ROUND);
      const queues = Array.from({ length: CALLERS }, (_, caller) =>
        jobs.filter((_job, index) => index % CALLERS === caller),
      );
      const empty = await timed(BARE_A_ROUND, () => redis.evalsha(sha, 1, '{holdoff}:x'));
      const least = await timed(PAIRS_A_ROUND, floorPair);
      const cpuBefore = await store.cpuSeconds();
      const full = await timed(PAIRS_A_ROUND, async (caller) => {
        const own = queues[caller] ?? [];
        const other = queues.findIndex((queue) => queue.length > 0);
        const number = own.length > 0 ? caller : other;
        const job = queues[number]?.shift();
        if (job !== undefined) await pair(job, hostOf(number));
      });
      if (round === 0) continue; // warms up both
      bare.push(empty.perSecond);
      floor.push(least.perSecond);
      pairs.push(full.perSecond);
      scriptSeconds += (await store.cpuSeconds()) - cpuBefore;
    }
    await store.close();
    redis.disconnect();

    const ratio = median(pairs) / median(bare);
    const p99 = percentile(admitMs, 0.99);
    const microseconds = (scriptSeconds * 1e6) / (ROUNDS * PAIRS_A_ROUND);
    return {
      columns: ['what', 'measured', 'unit'],
      rows: [
        ['empty scripts', median(bare), '/s'],
        ['the same commands without decisions', median(floor), 'pairs/s'],
        ['admit + settle', median(pairs), 'pairs/s'],
        ['admission, 50 callers, median', percentile(admitMs, 0.5), 'ms'],
        ['admission, 50 callers, 99th percentile', p99, 'ms'],
        ["Redis' CPU for a pair", microseconds, 'µs'],
        ['refused', refused, 'pairs'],
      ],
      figures: [
        { name: 'pairs ÷ empty scripts', value: ratio, unit: '', target: { atLeast: 0.35 } },
        {
          name: 'same commands without decisions ÷ empty scripts',
          value: median(floor) / median(bare),
          unit: '',
        },
        { name: 'pairs ÷ same commands without decisions', value: median(pairs) / median(floor), unit: '' },
        { name: 'admission p99', value: p99, unit: 'ms', target: { atMost: 5 } },
      ],
    };
  },
};
