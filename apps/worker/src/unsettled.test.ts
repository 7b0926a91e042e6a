import { expect, test, vi } from 'vitest';
import { drainSteps } from './drain.ts';
import { type Lesson, Unsettled } from './unsettled.ts';

const lesson = (change: Partial<Lesson> = {}): Lesson => ({
  job: 'j1',
  host: 'slow.example',
  attempt: 1,
  status: 429,
  outcome: 'throttled',
  decision: 'defer',
  cooldownUntilMs: 1_700_000_300_000,
  ...change,
});
const never = new Promise<never>(() => undefined);

test('names the answers that are not settled, the longest closed host first, and no other', async () => {
  const unsettled = new Unsettled();
  const error = vi.fn<(message: string, fields?: object) => void>();
  await unsettled.during(lesson({ job: 'told' }), async () => 'settled');
  await unsettled
    .during(lesson({ job: 'gave up' }), () => Promise.reject(new Error('away')))
    .catch(() => undefined);
  unsettled.tell({ error });
  expect(error).not.toHaveBeenCalled();

  void unsettled.during(lesson({ job: 'page', outcome: 'served', cooldownUntilMs: 0 }), () => never);
  void unsettled.during(lesson(), () => never);
  unsettled.tell({ error });
  expect(error.mock.calls).toEqual([
    [expect.stringContaining('answers are lost'), { answers: 2, hosts: ['slow.example'] }],
    ['lost answer', expect.objectContaining({ job: 'j1', cooldownUntil: '2023-11-14T22:18:20.000Z' })],
    ['lost answer', expect.objectContaining({ job: 'page', cooldownUntil: undefined })],
  ]);
});

test('a shutdown that ends in time says nothing, one that runs out of time names what is lost', async () => {
  const told = vi.fn<() => void>();
  const cut = new AbortController();
  const steps = (close: () => Promise<void>) =>
    drainSteps({
      graceMs: 10_000,
      server: { drain: () => undefined },
      worker: { close },
      wheel: { stop: async () => undefined },
      cut,
      parts: { unsettled: { tell: told } },
      logger: { error: () => undefined },
    });
  await steps(async () => undefined)[0]?.run(new AbortController().signal);
  expect(told).not.toHaveBeenCalled();

  const late = new AbortController();
  void steps(() => never)[0]?.run(late.signal);
  late.abort();
  expect(told).toHaveBeenCalledOnce();
  expect(cut.signal.aborted).toBe(true);
});
