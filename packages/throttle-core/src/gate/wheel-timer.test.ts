import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JobId } from '../core/identifiers.ts';
import type { WakeReply } from './gate.ts';
import { WheelTimer } from './wheel-timer.ts';

const job = (name: string): JobId => name as JobId;

function wheel(replies: (WakeReply | Error)[]) {
  const seen = { looks: 0, called: [] as JobId[], expired: [] as JobId[], errors: 0 };
  const timer = new WheelTimer({
    gate: {
      wake: async () => {
        seen.looks += 1;
        const reply = replies.shift() ?? { call: [], expired: [], nextAtMs: null, nowMs: 0 };
        if (reply instanceof Error) throw reply;
        return reply;
      },
    },
    call: async (jobs) => void seen.called.push(...jobs),
    expire: async (jobs) => void seen.expired.push(...jobs),
    onError: () => (seen.errors += 1),
    hostsMax: 10,
    jobsMax: 10,
    idleMs: 1_000,
  });
  return { timer, seen };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('looks again at the instant the gate named, and calls what is due', async () => {
  const { timer, seen } = wheel([
    { call: [], expired: [], nextAtMs: 5_300, nowMs: 5_000 },
    { call: [job('a')], expired: [job('b')], nextAtMs: null, nowMs: 5_300 },
  ]);
  timer.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(seen.looks).toBe(1);
  await vi.advanceTimersByTimeAsync(299);
  expect(seen.looks).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toMatchObject({ looks: 2, called: ['a'], expired: ['b'] });
  await timer.stop();
});

test('a hint brings the next look forward and never pushes it back', async () => {
  const { timer, seen } = wheel([{ call: [], expired: [], nextAtMs: 900, nowMs: 0 }]);
  timer.start();
  await vi.advanceTimersByTimeAsync(0);
  timer.lookWithin(50);
  timer.lookWithin(700);
  await vi.advanceTimersByTimeAsync(50);
  expect(seen.looks).toBe(2);
  await timer.stop();
});

test('a far instant is looked at no later than the idle interval, so no timer overflows', async () => {
  const { timer, seen } = wheel([{ call: [], expired: [], nextAtMs: 2 ** 41, nowMs: 0 }]);
  timer.start();
  await vi.advanceTimersByTimeAsync(999);
  expect(seen.looks).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.looks).toBe(2);
  await timer.stop();
});

test('rests a little longer after each look in vain, and not after one that found something', async () => {
  const due = { call: [], expired: [], nextAtMs: 0, nowMs: 0 };
  const { timer, seen } = wheel([
    ...Array.from({ length: 20 }, () => due),
    { ...due, call: [job('a')] },
    { ...due, call: [job('b')] },
  ]);
  timer.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen.looks).toBeGreaterThan(20);
  expect(seen.called).toEqual(['a', 'b']);
  expect(seen.looks).toBeLessThanOrEqual(1 + 1_000 / 50 + 6);
  await timer.stop();
});

test('goes on by itself after the gate was unreachable', async () => {
  const { timer, seen } = wheel([
    new Error('down'),
    { call: [job('a')], expired: [], nextAtMs: null, nowMs: 0 },
  ]);
  timer.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(seen).toMatchObject({ errors: 1, called: ['a'] });
  await timer.stop();
});

test('looks no more once stopped', async () => {
  const { timer, seen } = wheel([]);
  timer.start();
  await timer.stop();
  timer.lookWithin(0);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(seen.looks).toBe(0);
});
