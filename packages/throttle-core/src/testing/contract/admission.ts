import { describe, expect, it } from 'vitest';
import type { HostKey } from '../../core/identifiers.ts';
import { PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

export function describeAdmission(fixture: Fixture): void {
  describe('admission', () => {
    it('never has more live requests than the host has slots', async () => {
      const on = fixture();
      await on.enter(upTo(6));
      const kinds = [];
      for (const number of upTo(6)) kinds.push((await on.admit(number)).kind);
      expect(kinds).toEqual(['admitted', 'admitted', 'wait', 'wait', 'wait', 'wait']);
      expect((await on.gate.inspectHost(on.host))?.leases).toHaveLength(2);
    });

    it("frees a dead worker's slot when its lease ends, and no sooner", async () => {
      const on = fixture();
      await on.enter(upTo(3));
      await on.admitted(1);
      const { leaseMs } = await on.admitted(2);
      on.clock.advance(leaseMs - 1);
      expect(await on.waits(3)).toMatchObject({ cause: 'slots' });
      on.clock.advance(1);
      await on.admitted(3);
    });

    it('admits nothing before the end of a cooldown, to the millisecond', async () => {
      const on = fixture();
      await on.enter(upTo(2));
      await on.throttle(1, await on.admitted(1), 10_000);
      on.clock.advance(9999);
      expect(await on.waits(2)).toMatchObject({
        cause: 'cooldown',
        untilMs: on.clock.now() + 1,
        inline: true,
      });
      on.clock.advance(1);
      await on.admitted(2);
    });

    it('never moves a cooldown back: 60 s are not shortened by a later 5 s', async () => {
      const on = fixture();
      await on.enter(upTo(2));
      const first = await on.admitted(1);
      const second = await on.admitted(2);
      const untilMs = on.clock.now() + 60_000;
      await on.throttle(1, first, 60_000);
      await on.throttle(2, second, 5000);
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ cooldownUntilMs: untilMs });
    });

    it('does not clear a cooldown after a success', async () => {
      const on = fixture();
      await on.enter(upTo(2));
      const first = await on.admitted(1);
      const second = await on.admitted(2);
      await on.throttle(1, first, 60_000);
      await on.settle(2, second);
      expect(await on.enter([3])).toMatchObject([{ cause: 'cooldown' }]);
    });

    it("waits for the job's own instant outside the lane, and comes back exactly then", async () => {
      const on = fixture();
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), {
        outcome: 'unavailable',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now() + 5000, inPlace: false },
      });
      const untilMs = on.clock.now() + 5000;
      expect(await on.waits(1, { delivery: 2 })).toMatchObject({
        cause: 'not_before',
        untilMs,
        fallbackMs: untilMs,
        place: null,
        inline: false,
      });
      expect(await on.gate.listLane(on.host, 0, 10)).toEqual([]);
      on.clock.advance(4900);
      expect(await on.waits(1, { delivery: 2 })).toMatchObject({ inline: true });
      on.clock.advance(100);
      expect(await on.admitted(1, { delivery: 2 })).toMatchObject({ attempt: 2 });
    });

    it('stops a job whose deadline can no longer be met by a whole attempt', async () => {
      const on = fixture();
      const { attemptMs, headroomMs } = PLAIN_RULES;
      await on.enter([1], { deadlineMs: on.clock.now() + attemptMs + headroomMs + 1 });
      await on.enter([2], { deadlineMs: on.clock.now() + attemptMs + headroomMs });
      expect(await on.admit(2)).toMatchObject({ kind: 'stop', reason: 'deadline' });
      await on.admitted(1);
    });

    it('stops a job at once when the cooldown ends after its deadline', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.enter([2], { deadlineMs: on.clock.now() + 100_000 });
      await on.throttle(1, await on.admitted(1), 90_000);
      expect(await on.admit(2)).toMatchObject({ kind: 'stop', reason: 'deadline' });
    });

    it('stops at the attempts of its whole life', async () => {
      const on = fixture();
      await on.enter([1]);
      for (const delivery of upTo(3)) {
        const admission = await on.admitted(1, { delivery, attemptsMax: 3 });
        const jobEffect = { kind: 'defer', notBeforeMs: on.clock.now() } as const;
        await on.settle(1, admission, { delivery, outcome: 'throttled', jobEffect });
      }
      expect(await on.admit(1, { delivery: 4, attemptsMax: 3 })).toMatchObject({ reason: 'attempts' });
      expect(await on.admit(1, { delivery: 4, attemptsMax: 0 })).toMatchObject({ kind: 'admitted' });
    });

    it('fences an older delivery from sending and from settling', async () => {
      const on = fixture();
      await on.enter([1]);
      const old = await on.admitted(1, { delivery: 1 });
      await on.admitted(1, { delivery: 2 });
      expect(await on.admit(1, { delivery: 1 })).toEqual({ kind: 'stale', ended: null });
      expect(await on.settle(1, old, { delivery: 1 })).toMatchObject({ kind: 'late', job: null });
      expect(await on.gate.inspectJob(on.job(1))).toMatchObject({ ended: null });
    });

    it('takes neither attempt nor token for a hop that goes on from its attempt, nor for robots.txt', async () => {
      const on = fixture();
      const host = 'target.example' as HostKey;
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), { jobEffect: { kind: 'continue' } });
      const robots = await on.admitted(1, { host, purpose: 'robots' });
      await on.settle(1, robots, { host, jobEffect: { kind: 'continue' } });
      const hop = await on.admitted(1, { host, purpose: 'hop' });
      expect(hop.attempt).toBe(1);
      await on.settle(1, hop, { host });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 1, requests: 3 });
    });

    it('counts a hop that is sent again as an attempt', async () => {
      const on = fixture();
      const host = 'target.example' as HostKey;
      await on.enter([1]);
      await on.settle(1, await on.admitted(1), { jobEffect: { kind: 'continue' } });
      const hop = await on.admitted(1, { host, purpose: 'hop' });
      await on.throttle(1, hop, 1000, { host });
      on.clock.advance(1000);
      expect(await on.admitted(1, { host, purpose: 'hop', delivery: 2 })).toMatchObject({ attempt: 2 });
    });

    it('does not take back an attempt whose worker died', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.admitted(1);
      on.clock.advance(60_000);
      expect(await on.admitted(1, { delivery: 2 })).toMatchObject({ attempt: 2 });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 2 });
    });

    it('adopts a job that it does not know', async () => {
      const on = fixture();
      await on.admitted(1);
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ jobs: { total: 1 }, attempts: 1 });
    });
  });
}
