import { expect, test } from 'vitest';
import { brakeOnLatency, type Latency } from './latency-brake.ts';
import { NEW_PACE } from './pace.ts';

/** Results of the same latency, one after the other. */
function feel(from: Latency, latencyMs: number, times: number, share = 1): Latency {
  let latency = from;
  for (let n = 0; n < times; n += 1) ({ latency } = brakeOnLatency(latency, latencyMs, share));
  return latency;
}

const healthy = feel(NEW_PACE, 100, 100);

test('the first sixteen results set the level, whatever they are', () => {
  expect(feel(NEW_PACE, 5_000, 16)).toMatchObject({ brake: 1, latencyMs: 5_000, latencyBaseMs: 5_000 });
});

test('one page that took an age pulls no brake', () => {
  expect(brakeOnLatency(healthy, 60_000, 1)).toMatchObject({ change: 'none', latency: { brake: 1 } });
});

test('below twice the healthy level and 50 ms nothing is done', () => {
  expect(feel(healthy, 240, 30).brake).toBe(1);
  expect(feel(healthy, 300, 30).brake).toBeLessThan(1);
});

test('is pulled once, and as far as the latency has grown, at most to a quarter', () => {
  const changes = Array.from({ length: 40 }, () => 0).reduce<{ latency: Latency; pulls: number }>(
    ({ latency, pulls }) => {
      const felt = brakeOnLatency(latency, 5_000, 1);
      return { latency: felt.latency, pulls: pulls + (felt.change === 'pulled' ? 1 : 0) };
    },
    { latency: healthy, pulls: 0 },
  );
  expect(changes.pulls).toBe(1);
  expect(feel(healthy, 5_000, 20).brake).toBe(0.25);
});

test('in its second stage it goes to half of what came through', () => {
  const pulled = feel(healthy, 1_000, 12, 0.5);
  expect(pulled.brakeSamples).toBeGreaterThan(0);
  expect(feel(pulled, 1_000, 40).brake).toBe(0.25);
});

test('what came through by then counts, where it has shrunk since', () => {
  const pulled = feel(healthy, 1_000, 12, 0.5);
  expect(feel(pulled, 1_000, 40, 0.2).brake).toBe(0.1);
  expect(feel(pulled, 1_000, 40, 0.9).brake).toBe(0.25);
});

test('a brake that works stays on, and its second stage begins again from the level reached', () => {
  const braked = feel(healthy, 1_000, 30);
  const left = 64 - braked.brakeSamples;
  const working = feel(braked, 400, left + 1);
  expect(working).toMatchObject({ brake: 0.5, brakeSamples: 33, brakeFromMs: working.latencyMs });
  expect(working.latencyMs).toBeLessThan(braked.brakeFromMs * 0.8);
});

test('a brake that does not help is let go, and the new level is the healthy one', () => {
  const braked = feel(healthy, 1_000, 30);
  const last = feel(braked, 1_000, 64 - braked.brakeSamples);
  const { latency, change } = brakeOnLatency(last, 1_000, 1);
  expect(change).toBe('in_vain');
  expect(latency).toMatchObject({ brake: 1, brakeSamples: 0, latencyBaseMs: latency.latencyMs });
});
