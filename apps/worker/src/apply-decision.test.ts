import { DelayedError, type Job } from 'bullmq';
import { expect, test } from 'vitest';
import { applyDisposition, type Disposition } from './apply-decision.ts';
import type { QueueMoves } from './queue-moves.ts';
import { sampleJob } from './testing/sample-attempt.ts';

const NOW_MS = 1_700_000_000_000;

/** What a disposition does to the queue job, in order. */
async function apply(disposition: Disposition, moveFails = false) {
  const done: unknown[][] = [];
  const job = { id: 'j' } as Job;
  const moves: QueueMoves = {
    moveToDelayed: async (...move) => {
      if (moveFails) throw new Error('Lock mismatch');
      done.push(['delayed', ...move]);
    },
    nowMs: async () => NOW_MS,
  };
  const said = await applyDisposition(job, 'token', disposition, moves).catch((error: unknown) => error);
  return { said, done };
}

test('an ended job completes with its end', async () => {
  const end = { kind: 'stopped', reason: 'deadline' } as const;
  expect(await apply({ kind: 'complete', end })).toEqual({ said: { end }, done: [] });
});

test('a delay is never earlier than said, and tells the queue that the job was moved', async () => {
  const { said, done } = await apply({ kind: 'delay', untilMs: NOW_MS + 0.2, data: null });
  expect(done).toEqual([['delayed', 'j', NOW_MS + 1, 'token', null]]);
  expect(said).toBeInstanceOf(DelayedError);
});

test('what a job goes on with is written in the same step', async () => {
  const data = sampleJob({ priority: 1 });
  const { done } = await apply({ kind: 'delay', untilMs: NOW_MS, data });
  expect(done).toEqual([['delayed', 'j', NOW_MS, 'token', data]]);
});

test('an abandoned job is put back, since a failure would end it where the lock is ours after all', async () => {
  const { said, done } = await apply({ kind: 'abandon' });
  expect(done).toEqual([['delayed', 'j', NOW_MS + 1_000, 'token', null]]);
  expect(said).toBeInstanceOf(DelayedError);
});

test.each<Disposition>([{ kind: 'abandon' }, { kind: 'delay', untilMs: NOW_MS, data: null }])(
  'a move that the queue refuses ($kind) is not told as a move',
  async (disposition) => {
    const { said } = await apply(disposition, true);
    expect(said).not.toBeInstanceOf(DelayedError);
    expect(said).toMatchObject({ message: 'Lock mismatch' });
  },
);
