import { expect, test } from 'vitest';
import { inspectRedis } from './redis-requirements.ts';

const NOW = 1_768_478_400_000;

interface Server {
  readonly info?: Readonly<Record<string, string>> | 'forbidden';
  /** A policy, or `forbidden`. */
  readonly config?: string;
  readonly serverMs?: number;
}

const GOOD = {
  redis_version: '7.2.4',
  role: 'master',
  loading: '0',
  maxmemory_policy: 'noeviction',
  aof_enabled: '1',
  aof_last_write_status: 'ok',
};

function inspect({ info = GOOD, config = 'noeviction', serverMs = NOW }: Server) {
  const forbidden = new Error("NOPERM User default has no permissions to run the 'config' command");
  const call = async (command: string): Promise<unknown> => {
    if (command === 'TIME') return [String(Math.floor(serverMs / 1_000)), String((serverMs % 1_000) * 1_000)];
    if (command === 'INFO') {
      if (info === 'forbidden') throw forbidden;
      return Object.entries(info)
        .map(([name, value]) => `${name}:${value}`)
        .join('\r\n');
    }
    if (config === 'forbidden') throw forbidden;
    return ['maxmemory-policy', config];
  };
  return inspectRedis({ call }, { clockSkewMsMax: 1_000, wallClockMs: () => NOW });
}

const without = (...names: string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(GOOD).filter(([name]) => !names.includes(name)));

test('a server as it should be raises nothing', async () => {
  expect(await inspect({})).toEqual({ problems: [], warnings: [], server: 'Redis 7.2.4', clockSkewMs: 0 });
});

test.each([
  ['Redis 6', { info: { ...GOOD, redis_version: '6.2.14' } }, '7 or later'],
  ['Valkey 7', { info: { ...GOOD, valkey_version: '7.2.5' } }, '8 or later'],
  ['allkeys-lru', { info: { ...GOOD, maxmemory_policy: 'allkeys-lru' } }, 'noeviction is needed'],
  ['volatile-lru', { info: { ...GOOD, maxmemory_policy: 'volatile-lru' } }, 'noeviction is needed'],
  [
    'a policy that only CONFIG tells',
    { info: without('maxmemory_policy'), config: 'volatile-ttl' },
    'volatile-ttl',
  ],
  ['a replica', { info: { ...GOOD, role: 'slave' } }, 'replica'],
  ['a server that loads', { info: { ...GOOD, loading: '1' } }, 'loading'],
  ['a clock 2 s ahead', { serverMs: NOW + 2_000 }, 'clocks differ by 2000 ms'],
  ['a clock 1 h behind', { serverMs: NOW - 3_600_000 }, 'clocks differ'],
])('%s is a problem', async (_, server, problem) => {
  const report = await inspect(server);
  expect(report.problems).toHaveLength(1);
  expect(report.problems[0]).toContain(problem);
});

test.each([
  ['no append-only file', { info: { ...GOOD, aof_enabled: '0' } }, 'append-only'],
  [
    'CONFIG forbidden where INFO hides the policy',
    { info: without('maxmemory_policy'), config: 'forbidden' },
    'maxmemory-policy',
  ],
  ['INFO forbidden', { info: 'forbidden' as const }, 'INFO is not permitted'],
  ['a full disk', { info: { ...GOOD, aof_last_write_status: 'err' } }, 'cannot write'],
])('%s is a warning, and the service goes on', async (_, server, warning) => {
  const report = await inspect(server);
  expect(report.problems).toEqual([]);
  expect(report.warnings.join('\n')).toContain(warning);
});

test('Valkey 8 is known by its own version, although it also tells an old Redis one', async () => {
  const report = await inspect({ info: { ...GOOD, redis_version: '7.2.4', valkey_version: '8.1.0' } });
  expect(report).toMatchObject({ problems: [], server: 'Valkey 8.1.0' });
});

test('an unreachable server is an error, not a report', async () => {
  const down = {
    call: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
  };
  await expect(inspectRedis(down, { clockSkewMsMax: 1, wallClockMs: () => NOW })).rejects.toThrow(
    'ECONNREFUSED',
  );
});
