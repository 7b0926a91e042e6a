import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DeliveryProbe } from './delivery-probe.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function sample(probe: () => Promise<void>) {
  const said: string[] = [];
  let probes = 0;
  const made = new DeliveryProbe({
    probe: () => {
      probes += 1;
      return probe();
    },
    everyMs: 5_000,
    onFault: () => said.push('fault'),
    onHealed: () => said.push('healed'),
  });
  return { made, said, probes: () => probes };
}

test('asks until the place can be written to, says so once, and then stops', async () => {
  let full = true;
  const { made, said, probes } = sample(() =>
    full ? Promise.reject(new Error('ENOSPC')) : Promise.resolve(),
  );
  made.fault();
  made.fault();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(probes()).toBe(2);
  expect(said).toEqual(['fault', 'fault']);
  full = false;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(probes()).toBe(3);
  expect(said).toEqual(['fault', 'fault', 'healed']);
  made.fault();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(said).toEqual(['fault', 'fault', 'healed', 'fault', 'healed']);
});

test('a place that hangs is asked once, not every few seconds', async () => {
  const { made, probes } = sample(() => new Promise<void>(() => undefined));
  made.fault();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(probes()).toBe(1);
  made.stop();
});

test('an answer that comes after the stop heals nothing', async () => {
  let answer = (): void => undefined;
  const { made, said } = sample(() => new Promise<void>((resolve) => (answer = resolve)));
  made.fault();
  await vi.advanceTimersByTimeAsync(5_000);
  made.stop();
  answer();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(said).toEqual(['fault']);
});
