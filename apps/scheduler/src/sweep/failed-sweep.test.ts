import { Worker } from 'bullmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openWorld, type SchedulerWorld } from '../testing/scheduler-world.ts';
import { sweepFailed } from './failed-sweep.ts';

let world: SchedulerWorld;
beforeAll(async () => {
  world = await openWorld(process.env['PATH'] ?? '');
});
afterAll(() => world.close());

/** What BullMQ does when a job can be failed, but could not be put back. */
async function failAll(count: number): Promise<void> {
  let failed = 0;
  const worker = new Worker(
    world.names.queue,
    () => {
      throw new Error('could not be put back');
    },
    { connection: { url: world.server.url }, prefix: world.names.prefix },
  );
  await new Promise<void>((resolve) => {
    worker.on('failed', () => {
      failed += 1;
      if (failed === count) resolve();
    });
  });
  await worker.close();
}

test('a failed job whose ledger is alive waits again, one that has ended stays', async () => {
  const alive = await world.enter({ url: 'http://a.test/1' });
  const ended = await world.enter({ url: 'http://b.test/2' });
  await failAll(2);
  const known = await world.gate.inspectJob(ended);
  if (known === undefined) throw new Error('fixture');
  const end = { kind: 'stopped', reason: 'cancelled' } as const;
  await world.gate.finish({ job: ended, batch: known.batch, delivery: 0, end, evidence: 'test' });

  expect(await sweepFailed(world)).toBe(1);
  expect((await world.queue.getFailed()).map((job) => job.id)).toEqual([ended]);
  expect(await (await world.queue.getJob(alive))?.getState()).toMatch(/waiting|prioritized/);
  expect(await sweepFailed(world)).toBe(0);
});
