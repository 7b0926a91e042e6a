import { describe, expect, it } from 'vitest';
import type { Fixture } from './fixture.ts';

export function describeLedger(fixture: Fixture): void {
  describe('the ledger of a job', () => {
    it('counts 429s of the run, and starts again with the next run', async () => {
      const on = fixture();
      await on.enter([1]);
      for (const delivery of [1, 2]) {
        await on.throttle(1, await on.admitted(1, { delivery }), 1000, { delivery });
        on.clock.advance(1000);
      }
      const third = await on.admitted(1, { delivery: 3 });
      expect(third.facts).toMatchObject({ attempts: 3, run: 1, throttledInRun: 2 });
      await on.throttle(1, third, 1000, {
        delivery: 3,
        jobEffect: { kind: 'defer', notBeforeMs: on.clock.now() + 1000 },
      });
      on.clock.advance(1000);
      const { facts } = await on.admitted(1, { delivery: 4 });
      expect(facts).toMatchObject({ attempts: 4, run: 2, throttledInRun: 0, deferrals: 1 });
    });

    it('says why a job waits, until when, and what happened to it', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.throttle(1, await on.admitted(1), 60_000, { evidence: '429, Retry-After: 60' });
      await on.waits(1, { delivery: 2 });
      const job = await on.gate.inspectJob(on.job(1));
      expect(job?.waiting).toEqual({
        cause: 'not_before',
        untilMs: on.clock.now() + 60_000,
        place: null,
        scope: null,
      });
      expect(job?.trail.map(({ event }) => event)).toEqual(['wait', 'retry_at', 'entered']);
      expect(job?.trail[1]?.detail).toBe('429, Retry-After: 60');
    });

    it('keeps a bounded trail, the newest first', async () => {
      const on = fixture();
      await on.enter([1]);
      for (let delivery = 1; delivery <= 30; delivery += 1) {
        const admission = await on.admitted(1, { delivery, attemptsMax: 0 });
        await on.settle(1, admission, {
          delivery,
          outcome: 'transport',
          jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false },
          evidence: `attempt ${delivery}`,
        });
      }
      const { trail = [] } = (await on.gate.inspectJob(on.job(1))) ?? {};
      expect(trail).toHaveLength(21);
      expect(trail[0]?.detail).toBe('attempt 30');
    });

    it('cuts evidence of any length to 300 characters', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), { evidence: 'y'.repeat(5000) });
      const { trail = [] } = (await on.gate.inspectJob(on.job(1))) ?? {};
      expect(trail[0]?.detail).toHaveLength(300);
    });

    it('applies the effect on the job of a late result while nobody else has taken the job over', async () => {
      const on = fixture();
      await on.enter([1]);
      const admission = await on.admitted(1);
      on.clock.advance(admission.leaseMs + 1);
      expect(await on.settle(1, admission)).toMatchObject({ kind: 'late', job: null });
      expect(await on.gate.inspectJob(on.job(1))).toMatchObject({ ended: { kind: 'done' } });
    });

    it('gives a job back at once, its attempt counted, its place kept', async () => {
      const on = fixture();
      await on.enter([1, 2, 3, 4]);
      const admission = await on.admitted(1);
      const reply = await on.settle(1, admission, { outcome: 'neutral', jobEffect: { kind: 'release' } });
      expect(reply.job).toEqual({ dueMs: on.clock.now(), cause: 'turn' });
      expect(await on.admitted(1, { delivery: 2 })).toMatchObject({ attempt: 2 });
    });

    it('answers an ended job with its end', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), { jobEffect: { kind: 'stop', reason: 'blocked' } });
      expect(await on.admit(1, { delivery: 2 })).toEqual({
        kind: 'stale',
        ended: { kind: 'stopped', reason: 'blocked' },
      });
    });

    it('refuses a sweep that would end a job under a live request', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.admitted(1);
      const end = { kind: 'stopped', reason: 'deadline' } as const;
      const ending = { job: on.job(1), batch: on.batch, delivery: 0, end, evidence: '' };
      expect(await on.gate.finish(ending)).toMatchObject({ kind: 'stale' });
      expect(await on.gate.finish({ ...ending, delivery: 1 })).toMatchObject({ kind: 'finished' });
      expect((await on.gate.inspectHost(on.host))?.leases).toEqual([]);
    });

    it('records the end of a job that was refused before it was entered', async () => {
      const on = fixture();
      const end = { kind: 'stopped', reason: 'poison' } as const;
      await on.gate.finish({ job: on.job(1), batch: on.batch, delivery: 1, end, evidence: 'no URL' });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ stoppedBy: { poison: 1 } });
      expect(await on.admit(1)).toEqual({ kind: 'stale', ended: end });
    });
  });
}
