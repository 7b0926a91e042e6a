import { describe, expect, it } from 'vitest';
import type { HostKey } from '../../core/identifiers.ts';
import { OPEN_BATCH } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

export function describeEntering(fixture: Fixture): void {
  describe('entering jobs', () => {
    it('sends as many jobs of a host to the queue as it has slots, and the rest to its lane', async () => {
      const on = fixture();
      const replies = await on.enter(upTo(10));
      expect(replies.map(({ kind }) => kind)).toEqual(['go', 'go', ...Array(8).fill('wait')]);
      expect(await on.gate.listLane(on.host, 0, 3)).toEqual([on.job(3), on.job(4), on.job(5)]);
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ waiting: 8, called: 2 });
    });

    it('does not let one host stand before another', async () => {
      const on = fixture();
      await on.enter(upTo(50));
      const [other] = await on.enter([51], { host: 'other.example' as HostKey });
      expect(other).toMatchObject({ kind: 'go' });
    });

    it('answers a job that it knows as a duplicate, alive or ended, and counts it once', async () => {
      const on = fixture();
      await on.enter([1, 2]);
      await on.settle(1, await on.admitted(1));
      const [ended, alive] = await on.enter([1, 2]);
      expect(ended).toMatchObject({ kind: 'duplicate', ended: { kind: 'done' } });
      expect(alive).toMatchObject({ kind: 'duplicate', ended: null });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ jobs: { total: 2, done: 1 } });
    });

    it('keeps a job that may not start yet out of the lane, due exactly at its instant', async () => {
      const on = fixture();
      const notBeforeMs = on.clock.now() + 90_000;
      const [reply] = await on.enter([1], { notBeforeMs });
      expect(reply).toEqual({ kind: 'wait', job: on.job(1), cause: 'not_before', fallbackMs: notBeforeMs });
      expect(await on.gate.listLane(on.host, 0, 10)).toEqual([]);
    });

    it('sends nothing to the queue while the host is in a cooldown', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.throttle(1, await on.admitted(1), 60_000);
      expect(await on.enter([2])).toMatchObject([{ kind: 'wait', cause: 'cooldown' }]);
    });

    it('puts a fallback between 30 s and one day, and never after the deadline', async () => {
      const on = fixture();
      const now = on.clock.now();
      await on.enter(upTo(2));
      const [near] = await on.enter([3]);
      const [dated] = await on.enter([4], { deadlineMs: now + 7000 });
      expect(near).toMatchObject({ fallbackMs: now + 30_000 });
      expect(dated).toMatchObject({ fallbackMs: now + 7000 });
      await on.gate.hold(on.host, 'by hand', 'me');
      expect(await on.enter([5])).toMatchObject([{ cause: 'held', fallbackMs: now + 86_400_000 }]);
    });

    it("takes the earlier of the job's and the batch's deadline", async () => {
      const on = fixture();
      const deadlineMs = on.clock.now() + 50_000;
      await on.enter([1, 2], { defaults: { ...OPEN_BATCH, deadlineMs } });
      await on.enter([3], { deadlineMs: deadlineMs - 1 });
      expect(await on.gate.inspectJob(on.job(1))).toMatchObject({ facts: { deadlineMs } });
      expect(await on.gate.inspectJob(on.job(3))).toMatchObject({ facts: { deadlineMs: deadlineMs - 1 } });
    });

    it('refuses the jobs of a cancelled batch', async () => {
      const on = fixture();
      await on.gate.createBatch({ batch: on.batch, defaults: OPEN_BATCH });
      await on.gate.cancelBatch(on.batch, 'me');
      expect(await on.enter([1])).toMatchObject([{ kind: 'refused', reason: 'cancelled' }]);
      expect(await on.gate.inspectJob(on.job(1))).toBeUndefined();
    });
  });
}
