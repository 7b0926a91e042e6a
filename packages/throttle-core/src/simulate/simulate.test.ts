import { describe, expect, test } from 'vitest';
import type { Policy } from '../core/policy.ts';
import { PRESETS } from '../core/presets.ts';
import type { Scenario, SimulatedAnswer, SimulatedHost, SimulatedOrigin } from './scenario.ts';
import { seededRandom } from './seeded-random.ts';
import { type SendObserver, simulate } from './simulate.ts';

const SERVED: SimulatedAnswer = {
  status: 200,
  headers: {},
  latencyMs: 50,
  fault: null,
  publishedWaitMs: null,
  letIn: true,
};

function refused(seconds: number): SimulatedAnswer {
  const headers = { 'retry-after': [String(seconds)] };
  return { ...SERVED, status: 429, headers, publishedWaitMs: seconds * 1000, letIn: false };
}

/** Answers by the instant alone. */
function origin(answer: (atMs: number) => SimulatedAnswer): SimulatedOrigin {
  return { answer, ended: () => {}, limitPerSecond: () => null };
}

const policy: Policy = { ...PRESETS.balanced, concurrency: 16 };

function host(
  name: string,
  urls: number,
  of: SimulatedOrigin,
  own: Partial<SimulatedHost> = {},
): SimulatedHost {
  return { name, urls, policy, origin: of, learnedPerSecond: null, ...own };
}

function play(hosts: readonly SimulatedHost[], own: Partial<Scenario> = {}, seed = 1, onSend?: SendObserver) {
  const fleet = { workers: 2, concurrency: 8, lateMs: 5, sendMs: 3, overheadMs: 2 };
  const scenario = {
    hosts,
    fleet,
    tokens: null,
    untilMs: 7 * 86_400_000,
    random01: seededRandom(seed),
    ...own,
  };
  return simulate(scenario, onSend);
}

const shutOneSecondInTwenty = (atMs: number): SimulatedAnswer =>
  atMs % 20_000 > 19_000 ? refused(3) : SERVED;
const shutUntilTen = (atMs: number): SimulatedAnswer =>
  atMs > 1_000 && atMs < 10_000 ? refused(Math.ceil((10_000 - atMs) / 1_000)) : SERVED;

test('the same seed gives the same run, another seed another', () => {
  const [first, again, other] = [1, 1, 2].map((seed) =>
    play([host('a', 600, origin(shutOneSecondInTwenty))], {}, seed),
  );
  expect(first?.throttled).toBeGreaterThan(0);
  expect(again).toEqual(first);
  expect(other?.finishedMs).not.toBe(first?.finishedMs);
});

test('delays are drawn evenly up to a number, or from a list', () => {
  const arrivals = (sendMs: number | readonly number[]): number[] => {
    const sent: number[] = [];
    const late: number[] = [];
    const fleet = { workers: 1, concurrency: 1, lateMs: 0, sendMs, overheadMs: 0 };
    const seen = origin((atMs) => {
      late.push(atMs - (sent.at(-1) ?? 0));
      return SERVED;
    });
    play([host('a', 200, seen)], { fleet }, 1, ({ atMs }) => sent.push(atMs));
    return late.map((ms) => Math.round(ms * 1_000) / 1_000);
  };
  expect(Math.max(...arrivals(10))).toBeLessThanOrEqual(10);
  expect(new Set(arrivals(10)).size).toBeGreaterThan(100);
  expect(new Set(arrivals([1, 1, 40]))).toEqual(new Set([1, 40]));
});

describe('every URL ends once, or waits visibly', () => {
  test('all served: one request each', () => {
    const result = play([
      host(
        'a',
        500,
        origin(() => SERVED),
      ),
      host(
        'b',
        300,
        origin(() => SERVED),
      ),
    ]);
    expect(result).toMatchObject({
      urls: 800,
      done: 800,
      requests: 800,
      waiting: 0,
      inCooldown: 0,
      stopped: {},
    });
  });

  test('a permanent answer stops its URL', () => {
    const result = play([
      host(
        'a',
        20,
        origin(() => ({ ...SERVED, status: 404 })),
      ),
    ]);
    expect(result).toMatchObject({ done: 0, stopped: { permanent: 20 }, requests: 20, waiting: 0 });
  });

  test('a batch of J URLs with R tokens sends at most J + R requests', () => {
    const broken = origin(() => ({ ...SERVED, status: 0, fault: 'ECONNRESET' }));
    const freely: Policy = { ...policy, hostTokens: null };
    const result = play([host('a', 100, broken, { policy: freely })], { tokens: 20 });
    expect(result.requests).toBe(120);
    expect(result.tokens).toEqual({ total: 20, spent: 20 });
    expect(result.stopped).toEqual({ retry_budget: 100 });
  });

  test('attempts are bounded per URL', () => {
    const broken = origin(() => ({ ...SERVED, status: 503 }));
    const generous: Policy = {
      ...policy,
      hostTokens: null,
      attempts: { totalMax: 3, throttledPerRunMax: null, serverErrorMax: null },
    };
    const result = play([host('a', 10, broken, { policy: generous })], { tokens: 1_000 });
    expect(result).toMatchObject({ requests: 30, stopped: { attempts: 10 } });
  });

  test('URLs whose deadline cannot be met are stopped unsent', () => {
    const short: Policy = { ...policy, deadline: { ...policy.deadline, jobMs: 60_000, attemptMs: 30_000 } };
    const shut = origin((atMs) => (atMs < 1_000 ? SERVED : refused(300)));
    const result = play([host('a', 100, shut, { policy: short })]);
    expect(result.stopped['deadline']).toBe(100 - result.done);
    expect(result.requests).toBeLessThan(10);
    expect(result.waiting).toBe(0);
  });

  test('a host that asks for more than the policy pauses is held, and its URLs wait for the owner', () => {
    const day = origin((atMs) => (atMs < 2_000 ? SERVED : refused(86_400)));
    const result = play([
      host('a', 50, day),
      host(
        'b',
        50,
        origin(() => SERVED),
      ),
    ]);
    expect(result.hosts[0]?.held).toContain('86400 s');
    // The URL that met the wait has its deadline within it, and is stopped.
    expect(result.stopped).toEqual({ deadline: 1 });
    expect(result.waiting).toBe(49 - (result.hosts[0]?.done ?? 0));
    expect(result.hosts[1]?.done).toBe(50);
    expect(result.finishedMs).toBeNull();
  });

  test('a silent host that never opens is held after its events', () => {
    const silent = origin((atMs) => (atMs < 2_000 ? SERVED : { ...SERVED, status: 429, letIn: false }));
    const result = play([host('a', 50, silent)]);
    expect(result.hosts[0]?.held).toContain('without a usable wait');
    expect(result.throttled).toBeLessThanOrEqual(6);
  });
});

describe('nobody is asked too early', () => {
  test.each([1, 2, 3])('no request is admitted inside a published cooldown (seed %i)', (seed) => {
    const result = play([host('a', 2_000, origin(shutOneSecondInTwenty))], {}, seed);
    expect(result.throttled).toBeGreaterThan(5);
    expect(result.inCooldown).toBe(0);
  });

  test('after a cooldown one request goes first, and no second sees more than the pace and one', () => {
    const sends: { readonly atMs: number; readonly intervalMs: number }[] = [];
    play([host('a', 3_000, origin(shutOneSecondInTwenty), { learnedPerSecond: 20 })], {}, 1, (send) =>
      sends.push(send),
    );
    for (const [first, { atMs, intervalMs }] of sends.entries()) {
      const within = sends.slice(first, first + 200).filter((send) => send.atMs < atMs + 1_000);
      const quickest = Math.min(intervalMs, ...within.map((send) => send.intervalMs));
      expect(within.length).toBeLessThanOrEqual(Math.ceil(1_000 / quickest) + 1);
    }
    // The second request waits for the first one's answer.
    const firsts = sends.filter(({ atMs }, at) => at > 0 && atMs - (sends[at - 1]?.atMs ?? 0) > 3_000);
    expect(firsts.length).toBeGreaterThan(3);
    for (const { atMs } of firsts) {
      expect(sends.filter((send) => send.atMs > atMs && send.atMs < atMs + 50)).toEqual([]);
    }
  });

  test('hosts that share the end of a pause do not reopen in one instant', () => {
    const first = new Map<string, number>();
    const hosts = Array.from({ length: 200 }, (_, at) => host(`h${at}`, 10, origin(shutUntilTen)));
    const fleet = { workers: 50, concurrency: 20, lateMs: 0, sendMs: 0, overheadMs: 0 };
    play(hosts, { fleet }, 1, ({ host: name, atMs }) => {
      if (atMs > 5_000 && !first.has(name)) first.set(name, atMs);
    });
    expect(first.size).toBe(200);
    const tenths = Map.groupBy(first.values(), (atMs) => Math.floor(atMs / 100));
    expect(Math.max(...[...tenths.values()].map((hosts) => hosts.length))).toBeLessThan(60);
  });

  test('a dead host costs a bounded number of requests while its circuit is open', () => {
    const dead = origin((atMs) => (atMs < 5_000 ? SERVED : refused(1)));
    const result = play([host('a', 1_000, dead)], { untilMs: 3 * 3_600_000 });
    expect(result.throttled).toBeLessThan(20);
  });
});

test('one slow host does not hold up the others, however small the fleet', () => {
  const slow = host(
    'slow',
    5_000,
    origin(() => ({ ...SERVED, latencyMs: 3_000 })),
  );
  const quick = Array.from({ length: 10 }, (_, at) =>
    host(
      `q${at}`,
      50,
      origin(() => SERVED),
    ),
  );
  const fleet = { workers: 1, concurrency: 20, lateMs: 5, sendMs: 3, overheadMs: 2 };
  const result = play([slow, ...quick], { fleet, untilMs: 600_000 });
  const last = Math.max(...result.hosts.slice(1).map(({ lastDoneMs }) => lastDoneMs ?? Infinity));
  const alone = play(quick, { fleet }).finishedMs ?? 0;
  expect(last).toBeLessThan(alone * 1.1 + 500);
});

/** Serves one request at a time, 100 ms each: what comes quicker only queues. */
function queueing(seen: number[]): SimulatedOrigin {
  let freeAtMs = 0;
  return {
    answer: (atMs) => {
      freeAtMs = Math.max(freeAtMs, atMs) + 100;
      seen.push(freeAtMs - atMs);
      return { ...SERVED, latencyMs: freeAtMs - atMs };
    },
    ended: () => {},
    limitPerSecond: () => null,
  };
}

describe('latency brake', () => {
  test('a host that queues is slowed before it drowns, and not starved', () => {
    const seen: number[] = [];
    const wide: Policy = { ...policy, concurrency: 64 };
    const fleet = { workers: 4, concurrency: 32, lateMs: 5, sendMs: 3, overheadMs: 2 };
    const result = play([host('a', 5_000, queueing(seen), { policy: wide })], { fleet });
    expect(result.done).toBe(5_000);
    // With all 64 slots in use every answer would take 6.4 s.
    const settled = seen.slice(1_000);
    const mean = settled.reduce((sum, latencyMs) => sum + latencyMs, 0) / settled.length;
    expect(mean).toBeLessThan(1_000);
    expect(result.hosts[0]?.servedPerSecond).toBeGreaterThan(7);
  });

  test.each<[string, (draw01: number) => number]>([
    ['even', () => 100],
    ['uneven', (draw01) => 20 + draw01 * 600],
    ['heavy-tailed', (draw01) => Math.min(8_000, 50 / (1 - draw01) ** 0.7)],
  ])('a healthy host with %s latency gives all it has', (_name, latencyOf) => {
    const draw = seededRandom(7);
    const steady = origin(() => ({ ...SERVED, latencyMs: latencyOf(draw()) }));
    const bounded: Policy = { ...policy, concurrency: 64, pace: { ...policy.pace, intervalMs: 50 } };
    const fleet = { workers: 4, concurrency: 32, lateMs: 5, sendMs: 3, overheadMs: 2 };
    const result = play([host('a', 6_000, steady, { policy: bounded, learnedPerSecond: 20 })], { fleet });
    expect(result.hosts[0]?.servedPerSecond).toBeGreaterThan(20 * 0.97);
  });
});
