import { describe, expect, it } from 'vitest';
import { OPEN_BATCH, PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

export function describeRepeats(fixture: Fixture): void {
  describe('a question asked again', () => {
    it('gives the same admission and charges nothing twice', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, hostTokens: { perSuccess: 0, cap: 5, start: 5 } } };
      await on.enter([1], { defaults: { ...OPEN_BATCH, tokens: { kind: 'fixed', total: 5 } } });
      const first = await on.admitted(1, more);
      await on.settle(1, first, {
        ...more,
        outcome: 'transport',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false },
      });
      const request = on.admitRequest(1, { ...more, delivery: 2 });
      const once = await on.gate.admit(request);
      on.clock.advance(700);
      expect(await on.gate.admit(request)).toEqual(once);
      expect(once).toMatchObject({ attempt: 2, tokensLeft: 4, facts: { hostTokensLeft: 4 } });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ attempts: 2, tokens: { spent: 1 } });
      expect((await on.gate.inspectHost(on.host))?.leases).toHaveLength(1);
    });

    it('is a new request once the lease is gone', async () => {
      const on = fixture();
      await on.enter([1]);
      const request = on.admitRequest(1);
      const once = await on.gate.admit(request);
      on.clock.advance(60_000);
      const again = await on.gate.admit(request);
      expect(again).toMatchObject({ kind: 'admitted', attempt: 2 });
      expect(again).not.toMatchObject({ leaseId: once.kind === 'admitted' ? once.leaseId : '' });
    });

    it('gives the same settlement, calls included, and applies nothing twice', async () => {
      const on = fixture();
      await on.enter(upTo(4));
      const request = on.settleRequest(1, await on.admitted(1));
      const once = await on.gate.settle(request);
      const batch = await on.gate.inspectBatch(on.batch);
      expect(once.call).toHaveLength(1);
      expect(await on.gate.settle(request)).toEqual(once);
      expect(await on.gate.inspectBatch(on.batch)).toEqual(batch);
    });

    it('settles a lease once, whatever the nonce', async () => {
      const on = fixture();
      await on.enter([1]);
      const admission = await on.admitted(1);
      await on.throttle(1, admission, 1000);
      expect(await on.throttle(1, admission, 1000)).toMatchObject({ kind: 'late', job: null });
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ throttled: 1, requests: 1 });
    });

    it('enters a job once', async () => {
      const on = fixture();
      await on.enter(upTo(3));
      await on.enter(upTo(3));
      expect(await on.gate.inspectBatch(on.batch)).toMatchObject({ jobs: { total: 3 } });
      expect(await on.gate.listLane(on.host, 0, 9)).toEqual([on.job(3)]);
    });
  });
}
