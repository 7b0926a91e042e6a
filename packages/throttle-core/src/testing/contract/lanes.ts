import { describe, expect, it } from 'vitest';
import type { JobId } from '../../core/identifiers.ts';
import { PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

const ONE_AT_A_TIME = { ...PLAIN_RULES, concurrency: 1 };
const PACED = { ...PLAIN_RULES, concurrency: 8, paceIntervalMs: 100 };
/** What a late dispatch may lend the next one: a tenth of the interval. */
const LENT_MS = 10;
const WAKE = { hostsMax: 100, jobsMax: 100 };

export function describeLanes(fixture: Fixture): void {
  describe('lanes and calls', () => {
    it('calls the first job of the lane when a slot is free', async () => {
      const on = fixture();
      await on.enter(upTo(5));
      const first = await on.admitted(1);
      await on.admitted(2);
      const { call } = await on.settle(1, first, { rules: PLAIN_RULES });
      expect(call).toEqual([on.job(3)]);
    });

    it('orders by priority, then age', async () => {
      const on = fixture();
      await on.enter([1, 2, 3, 4]);
      await on.enter([5], { priority: 10 });
      await on.enter([6], { priority: 90 });
      expect(await on.gate.listLane(on.host, 0, 10)).toEqual([5, 3, 4, 6].map((n) => on.job(n)));
    });

    it('keeps the place of a job that is sent again', async () => {
      const on = fixture();
      const more = { rules: ONE_AT_A_TIME };
      await on.enter([1, 2, 3], more);
      const first = await on.admitted(1, more);
      await on.settle(1, first, {
        ...more,
        outcome: 'transport',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now() + 1000, inPlace: false },
      });
      await on.admitted(2, more);
      on.clock.advance(1000);
      expect(await on.waits(1, { ...more, delivery: 2 })).toMatchObject({ cause: 'slots', place: 0 });
      expect(await on.gate.listLane(on.host, 0, 10)).toEqual([on.job(1), on.job(3)]);
    });

    it('lets nobody pass who is not called while others are ahead', async () => {
      const on = fixture();
      const more = { rules: ONE_AT_A_TIME };
      await on.enter([1, 2, 3], more);
      const first = await on.admitted(1, more);
      expect((await on.settle(1, first, more)).call).toEqual([on.job(2)]);
      expect(await on.waits(3, more)).toMatchObject({ cause: 'turn', place: 1 });
      await on.admitted(2, more);
    });

    it('calls no more than the free slots and as many lost ones again, however often it is asked', async () => {
      const on = fixture();
      await on.enter(upTo(20));
      const called = [];
      for (let round = 0; round < 4; round += 1) {
        on.clock.advance(5000);
        called.push((await on.gate.wake(WAKE)).call.length, (await on.gate.wake(WAKE)).call.length);
      }
      // The two that were sent to the queue again, and two more; then those four again, and no more.
      expect(called).toEqual([4, 0, 4, 0, 4, 0, 4, 0]);
    });

    it('calls a job again that did not come within 5 s, and does not let lost jobs block the host', async () => {
      const on = fixture();
      const more = { rules: ONE_AT_A_TIME };
      await on.enter([1, 2, 3], more);
      const { call } = await on.settle(1, await on.admitted(1, more), more);
      expect(call).toEqual([on.job(2)]);
      on.clock.advance(4999);
      expect((await on.gate.wake(WAKE)).call).toEqual([]);
      on.clock.advance(1);
      expect((await on.gate.wake(WAKE)).call).toEqual([on.job(2), on.job(3)]);
      await on.admitted(3, more);
    });

    it('calls a lost job again while the others of a busy host come and go', async () => {
      const on = fixture();
      await on.enter(upTo(60));
      const enteredAtMs = on.clock.now();
      const called = new Map<JobId, number>(upTo(2).map((number) => [on.job(number), number]));
      const number = (job: JobId): number => Number(job.slice(2));
      const lost = 3;
      const lostCalledAtMs: number[] = [];
      const told = (jobs: readonly JobId[]): void => {
        for (const job of jobs) {
          if (number(job) !== lost) called.set(job, number(job));
          else lostCalledAtMs.push(on.clock.now() - enteredAtMs);
        }
      };
      for (let second = 0; second < 25 && lostCalledAtMs.length < 2; second += 1) {
        for (const [job, each] of [...called].slice(0, 2)) {
          const reply = await on.admit(each);
          if (reply.kind !== 'admitted') continue;
          called.delete(job);
          told((await on.settle(each, reply)).call);
        }
        on.clock.advance(1000);
        told((await on.gate.wake(WAKE)).call);
      }
      expect(lostCalledAtMs).toHaveLength(2);
      expect(lostCalledAtMs[1]).toBeLessThanOrEqual(11_000);
    });

    it('looks at a fast host every few requests, not once for each', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, concurrency: 50, paceIntervalMs: 5 } };
      await on.enter(upTo(150));
      const first = await on.admitted(1, more);
      const { lookAtMs, nowMs } = await on.settle(1, first, more);
      expect((lookAtMs ?? 0) - nowMs).toBeGreaterThanOrEqual(20);
    });

    it('names the instant at which a cooldown ends, and calls one job then', async () => {
      const on = fixture();
      await on.enter(upTo(6));
      const { lookAtMs } = await on.throttle(1, await on.admitted(1), 60_000);
      expect(lookAtMs).toBe(on.clock.now() + 60_000);
      expect((await on.gate.wake(WAKE)).nextAtMs).toBe(lookAtMs);
      on.clock.advance(60_000);
      expect((await on.gate.wake(WAKE)).call).toHaveLength(1);
    });

    it('gives each paced job an instant of its own', async () => {
      const on = fixture();
      const more = { rules: PACED };
      await on.enter(upTo(4), more);
      await on.admitted(1, more);
      const inMs = [];
      for (const number of [2, 3, 4]) {
        const reply = await on.waits(number, more);
        inMs.push(reply.untilMs - reply.nowMs);
        expect(reply).toMatchObject({ cause: 'pace', inline: reply.untilMs - reply.nowMs <= 250 });
      }
      const [first = 0, second = 0, third = 0] = inMs;
      expect(first).toBeGreaterThanOrEqual(100 - LENT_MS);
      expect([second - first, third - second]).toEqual([100, 100]);
    });

    it('keeps the pace between two dispatches, lateness of a few milliseconds made good', async () => {
      const on = fixture();
      const more = { rules: PACED };
      await on.enter(upTo(200), more);
      const admittedAt: number[] = [];
      const waiting = new Set<JobId>(upTo(200).map((number) => on.job(number)));
      for (let tick = 0; tick < 4000 && admittedAt.length < 20; tick += 1) {
        for (const number of upTo(200)
          .filter((each) => waiting.has(on.job(each)))
          .slice(0, 3)) {
          const reply = await on.admit(number, more);
          if (reply.kind !== 'admitted') continue;
          waiting.delete(on.job(number));
          admittedAt.push(reply.admittedAtMs);
          await on.settle(number, reply, more);
        }
        on.clock.advance(7);
        await on.gate.wake(WAKE);
      }
      const span = (admittedAt.at(-1) ?? 0) - (admittedAt[0] ?? 0);
      const gaps = admittedAt.slice(1).map((at, index) => at - (admittedAt[index] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(100 - LENT_MS);
      expect(span).toBeGreaterThanOrEqual(19 * 100 - LENT_MS);
      expect(span).toBeLessThanOrEqual(19 * 100 + 150);
    });

    it('leaves no slot to a job that kept it in place and did not come', async () => {
      const on = fixture();
      const more = { rules: ONE_AT_A_TIME };
      await on.enter([1, 2], more);
      await on.throttle(1, await on.admitted(1, more), 1000, {
        ...more,
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now() + 1000, inPlace: true },
      });
      on.clock.advance(2000);
      expect(await on.waits(2, more)).toMatchObject({ cause: 'slots' });
      on.clock.advance(1000 + ONE_AT_A_TIME.leaseMarginMs);
      await on.admitted(2, more);
    });

    it('lets a job use the slot it kept, and counts that slot once', async () => {
      const on = fixture();
      const more = { rules: ONE_AT_A_TIME };
      await on.enter([1, 2], more);
      await on.throttle(1, await on.admitted(1, more), 1000, {
        ...more,
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now() + 1000, inPlace: true },
      });
      on.clock.advance(1000);
      await on.admitted(1, { ...more, delivery: 2 });
      expect((await on.gate.inspectHost(on.host))?.leases).toHaveLength(1);
    });

    it('names a job whose deadline passed while it waited, also on a held host, until it is finished', async () => {
      const on = fixture();
      await on.enter(upTo(2));
      await on.enter([3], { deadlineMs: on.clock.now() + 10_000 });
      await on.gate.hold(on.host, 'by hand', 'me');
      on.clock.advance(9999);
      expect(await on.gate.wake(WAKE)).toMatchObject({ expired: [], nextAtMs: on.clock.now() + 1 });
      on.clock.advance(1);
      expect((await on.gate.wake(WAKE)).expired).toEqual([on.job(3)]);
      expect((await on.gate.wake(WAKE)).expired).toEqual([]);
      on.clock.advance(5000);
      expect((await on.gate.wake(WAKE)).expired).toEqual([on.job(3)]);
      const end = { kind: 'stopped', reason: 'deadline' } as const;
      const ending = { job: on.job(3), batch: on.batch, delivery: 0, end, evidence: 'too late' };
      expect(await on.gate.finish(ending)).toMatchObject({ kind: 'finished', end });
      expect(await on.gate.finish(ending)).toMatchObject({ kind: 'already', end });
      expect(await on.gate.listLane(on.host, 0, 10)).toEqual([]);
    });

    it('does not end a job under a live request for its deadline', async () => {
      const on = fixture();
      await on.enter([1], { deadlineMs: on.clock.now() + 40_000 });
      on.clock.advance(9000);
      await on.admitted(1);
      on.clock.advance(32_000);
      expect((await on.gate.wake(WAKE)).expired).toEqual([]);
      on.clock.advance(5000);
      expect((await on.gate.wake(WAKE)).expired).toEqual([on.job(1)]);
    });
  });
}
