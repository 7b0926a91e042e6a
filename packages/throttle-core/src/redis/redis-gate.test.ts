import { afterAll, beforeAll } from 'vitest';
import { describeGateContract } from '../testing/contract/gate-contract.ts';
import { type TestRedis, startTestRedis } from '../testing/start-redis.ts';
import { createRedisGate } from './redis-gate.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(() => server.stop());

describeGateContract('the Redis gate', (clock) =>
  createRedisGate({ redis: server.redis, deployment: server.deployment(), clock: clock.now }),
);
