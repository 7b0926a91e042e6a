import { describe, expect, it } from 'vitest';
import type { BatchId } from '../../core/identifiers.ts';
import { OPEN_BATCH, PLAIN_RULES } from '../gate-fixture.ts';
import type { GateFixture } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

/** Sends every job again and again, as an origin that always fails would make us; the attempts made. */
async function exhaust(on: GateFixture, jobs: number, rules = PLAIN_RULES): Promise<number> {
  let attempts = 0;
  for (let round = 1; round <= 6; round += 1) {
    for (const number of upTo(jobs)) {
      const reply = await on.admit(number, { delivery: round, rules, attemptsMax: 3 });
      if (reply.kind !== 'admitted') continue;
      attempts += 1;
      await on.settle(number, reply, {
        delivery: round,
        rules,
        outcome: 'unavailable',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false },
      });
    }
  }
  return attempts;
}

export function describeBatches(fixture: Fixture): void {
  describe('batches', () => {
    it('sends at most jobs + tokens attempts: 100 jobs, 3 attempts each, 20 tokens', async () => {
      const on = fixture();
      await on.enter(upTo(100), { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 20 } } });
      expect(await exhaust(on, 100)).toBe(120);
      const batch = await on.gate.inspectBatch(on.batch);
      expect(batch).toMatchObject({ attempts: 120, tokens: { total: 20, spent: 20 } });
      expect(await on.admit(1, { delivery: 9, attemptsMax: 0 })).toMatchObject({ reason: 'retry_budget' });
    });

    it('has as many tokens as its share of the jobs, and at least its least', async () => {
      const on = fixture();
      const defaults = { ...OPEN_BATCH, tokens: { kind: 'share', share: 0.07, least: 3 } } as const;
      await on.enter(upTo(10), { defaults });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ tokens: { total: 3 } });
      await on.enter(Array.from({ length: 90 }, (_, index) => index + 11));
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ tokens: { total: 7 } });
      await on.enter([101]);
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ tokens: { total: 8 } });
    });

    it('grows by a top-up, once for each nonce', async () => {
      const on = fixture();
      await on.enter([1], { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 1 } } });
      await on.gate.topUpBatch(on.batch, 5, 'a');
      expect(await on.gate.topUpBatch(on.batch, 5, 'a')).toMatchObject({ tokens: { total: 6 } });
      expect(await on.gate.topUpBatch(on.batch, 5, 'b')).toMatchObject({ tokens: { total: 11 } });
    });

    it.each([-1, 0.5, Number.NaN, Number.MAX_VALUE])('refuses a top-up of %d', async (tokens) => {
      const on = fixture();
      await on.enter([1]);
      await expect(on.gate.topUpBatch(on.batch, tokens, 'a')).rejects.toThrow(RangeError);
    });

    it('sends nothing while it is not approved, and nothing more once it is cancelled', async () => {
      const on = fixture();
      await on.enter(upTo(2), { defaults: { ...OPEN_BATCH, approved: false } });
      expect(await on.admit(1)).toMatchObject({ kind: 'stop', reason: 'not_approved' });
      await on.gate.approveBatch(on.batch, 'me');
      await on.admitted(1);
      await on.gate.cancelBatch(on.batch, 'me');
      expect(await on.admit(2)).toMatchObject({ kind: 'stop', reason: 'cancelled' });
    });

    it.each([
      ['requests', { requestsMax: 1, bytesMax: 0, costMicrosMax: 0 }],
      ['bytes', { requestsMax: 0, bytesMax: 1000, costMicrosMax: 0 }],
      ['cost', { requestsMax: 0, bytesMax: 0, costMicrosMax: 7 }],
    ])('stops when its %s are spent', async (_, spend) => {
      const on = fixture();
      await on.enter(upTo(2), { defaults: { ...OPEN_BATCH, spend } });
      await on.settle(1, await on.admitted(1));
      expect(await on.admit(2)).toMatchObject({ kind: 'stop', reason: 'spend' });
    });

    it('counts what its jobs did', async () => {
      const on = fixture();
      await on.enter(upTo(3));
      await on.throttle(1, await on.admitted(1), 1000);
      on.clock.advance(1000);
      await on.settle(1, await on.admitted(1, { delivery: 2 }), { delivery: 2 });
      await on.settle(2, await on.admitted(2), { jobEffect: { kind: 'stop', reason: 'permanent' } });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({
        jobs: { total: 3, done: 1, stopped: 1 },
        stoppedBy: { permanent: 1 },
        attempts: 3,
        requests: 3,
        recovered: 1,
        throttled: 1,
        bytes: 3000,
        costMicros: 21,
      });
    });

    it('hands a deferred job on to a later run, under its id and with its life', async () => {
      const on = fixture();
      const next = 'next' as BatchId;
      await on.enter(upTo(2), { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 3 } } });
      const again = { jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false } } as const;
      await on.settle(1, await on.admitted(1), { outcome: 'unavailable', ...again });
      const deferral = { kind: 'defer', notBeforeMs: on.clock.now() + 5000 } as const;
      await on.settle(1, await on.admitted(1), { outcome: 'throttled', jobEffect: deferral });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ away: 1, movedOn: 0, resends: 1 });
      expect(await on.gate.joinRun({ job: on.job(1), from: on.batch, to: next })).toBe('no');

      await on.gate.createBatch({
        batch: next,
        defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 1 } },
      });
      expect(await on.gate.joinRun({ job: on.job(2), from: on.batch, to: next })).toBe('no');
      expect(await on.gate.joinRun({ job: on.job(1), from: on.batch, to: next })).toBe('joined');
      expect(await on.gate.joinRun({ job: on.job(1), from: on.batch, to: next })).toBe('already');
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({
        jobs: { total: 2 },
        away: 0,
        movedOn: 1,
        attempts: 2,
        tokens: { spent: 1 },
      });
      expect(await on.gate.inspectJob(on.job(1))).toMatchObject({
        batch: next,
        awaitsRun: false,
        facts: { attempts: 2, deferrals: 1, run: 2, notBeforeMs: deferral.notBeforeMs },
      });

      on.clock.advance(5000);
      expect(await on.admit(1)).toEqual({ kind: 'stale', ended: null });
      const first = await on.admitted(1, { batch: next, delivery: 2 });
      expect(first).toMatchObject({ attempt: 3, tokensLeft: 1 });
      await on.settle(1, first, { batch: next, delivery: 2, outcome: 'unavailable', ...again });
      const second = await on.admitted(1, { batch: next, delivery: 3 });
      expect(second).toMatchObject({ attempt: 4, tokensLeft: 0 });
      await on.settle(1, second, { batch: next, delivery: 3 });
      expect(await on.gate.inspectBatch(next)).toMatchObject({
        jobs: { total: 1, done: 1 },
        attempts: 2,
        resends: 1,
        recovered: 1,
        tokens: { total: 1, spent: 1 },
      });
    });

    it('takes a job back from its wait for a later run when it is sent in its own', async () => {
      const on = fixture();
      await on.enter([1]);
      const deferral = { kind: 'defer', notBeforeMs: on.clock.now() + 5000 } as const;
      await on.settle(1, await on.admitted(1), { outcome: 'throttled', jobEffect: deferral });
      on.clock.advance(5000);
      await on.admitted(1);
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ away: 0 });
      await on.gate.createBatch({ batch: 'next' as BatchId, defaults: OPEN_BATCH });
      expect(await on.gate.joinRun({ job: on.job(1), from: on.batch, to: 'next' as BatchId })).toBe('no');
    });

    it('is created once', async () => {
      const on = fixture();
      const request = { batch: on.batch, defaults: OPEN_BATCH };
      expect((await on.gate.createBatch(request)).kind).toBe('created');
      expect((await on.gate.createBatch({ ...request, defaults: { ...OPEN_BATCH, owner: 'x' } })).kind).toBe(
        'exists',
      );
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ owner: OPEN_BATCH.owner });
      expect(await on.gate.listBatches()).toEqual([on.batch]);
    });

    it('is refused when nobody knows it', async () => {
      const on = fixture();
      await expect(on.gate.cancelBatch(on.batch, 'me')).rejects.toThrow(on.batch);
      expect(await on.gate.inspectBatch(on.batch)).toBeUndefined();
    });
  });
}
