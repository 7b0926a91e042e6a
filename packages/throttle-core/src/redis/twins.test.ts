import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HostRules } from '../gate/gate.ts';
import { createMemoryGate } from '../gate/memory-gate.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { OperationRunner, observe } from '../testing/operation-runner.ts';
import { type Operation, operation, rulesOfRun } from '../testing/random-operations.ts';
import { type TestRedis, startTestRedis } from '../testing/start-redis.ts';
import { createRedisGate } from './redis-gate.ts';

/** 300 runs of 40 to 100 operations: more than 20,000. */
const RUNS = Number(process.env['HOLDOFF_TWIN_RUNS'] ?? 300);
const SEED = process.env['HOLDOFF_SEED'];

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());

interface Difference {
  readonly at: string;
  readonly specified: unknown;
  readonly actual: unknown;
}

/** Runs the steps on both gates; the first difference, or undefined. */
async function firstDifference(
  rules: HostRules,
  steps: readonly Operation[],
): Promise<Difference | undefined> {
  const clock = new ManualClock();
  const memory = createMemoryGate({ now: clock.now });
  const redis = createRedisGate({ redis: server.redis, deployment: server.deployment(), clock: clock.now });
  const inMemory = new OperationRunner(memory, rules, clock.now);
  const inRedis = new OperationRunner(redis, rules, clock.now);
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'advance') {
      clock.advance(step.ms);
      continue;
    }
    const [specified, actual] = await Promise.all([inMemory.run(step), inRedis.run(step)]);
    if (!isDeepStrictEqual(actual, specified)) return { at: `answer ${index}`, specified, actual };
    if (index % 10 !== 9 && index < steps.length - 1) continue;
    const [shown, seen] = await Promise.all([observe(memory), observe(redis)]);
    if (!isDeepStrictEqual(seen, shown)) return { at: `state ${index}`, specified: shown, actual: seen };
  }
  return undefined;
}

describe('the memory gate and the Redis gate', () => {
  it('give the same answers and show the same state on random runs', async () => {
    let operations = 0;
    const property = fc.asyncProperty(
      rulesOfRun,
      fc.array(operation, { minLength: 40, maxLength: 100, size: 'max' }),
      async (rules, steps) => {
        operations += steps.length;
        const difference = await firstDifference(rules, steps);
        expect(difference?.actual).toEqual(difference?.specified);
      },
    );
    await fc.assert(property, {
      numRuns: RUNS,
      endOnFailure: process.env['HOLDOFF_NO_SHRINK'] !== undefined,
      // Shrinking ends here, with the smallest case found so far.
      interruptAfterTimeLimit: 240_000,
      markInterruptAsFailure: true,
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
    });
    expect(operations).toBeGreaterThanOrEqual(Math.min(20_000, RUNS * 40));
  }, 600_000);
});
