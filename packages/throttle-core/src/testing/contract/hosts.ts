import { describe, expect, it } from 'vitest';
import type { HostKey } from '../../core/identifiers.ts';
import { PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

const WAKE = { hostsMax: 100, jobsMax: 100 };
const RAMPED = { ...PLAIN_RULES, concurrency: 4, ramp: { durationMs: 10_000, startFraction: 0.25 } };
const LEARN = {
  startIntervalMs: 500,
  floorIntervalMs: 10_000,
  ceilingIntervalMs: 0,
  doubleAfterSuccesses: 10,
  doubleAfterMs: 2500,
  decrease: 0.9,
  recoveryLeastMs: 120_000,
  recoveryPauses: 20,
  recoveryMostMs: 1_800_000,
  keepMs: 604_800_000,
};

export function describeHosts(fixture: Fixture): void {
  describe('hosts', () => {
    it('dispatches nothing to a held host until its owner resumes it', async () => {
      const on = fixture();
      await on.enter(upTo(3));
      const held = await on.gate.hold(on.host, 'asked to', 'me');
      expect(held.hold).toMatchObject({ reason: 'asked to', by: 'me' });
      on.clock.advance(10 * 86_400_000);
      for (const number of [1, 2]) expect(await on.waits(number)).toMatchObject({ cause: 'held' });
      expect((await on.gate.wake(WAKE)).call).toEqual([]);
      const { host, call } = await on.gate.resume(on.host);
      expect(host.hold).toBeNull();
      expect(call).toEqual([on.job(1)]);
    });

    it('keeps the first reason of a hold', async () => {
      const on = fixture();
      await on.gate.hold(on.host, 'first', 'me');
      expect((await on.gate.hold(on.host, 'second', 'you')).hold).toMatchObject({ reason: 'first' });
    });

    it('parks a job under its hold and calls it after the resume', async () => {
      const on = fixture();
      await on.enter([1]);
      const reply = await on.throttle(1, await on.admitted(1), 7_200_000, {
        hostEffect: { hold: { reason: 'asked for two hours' } },
        jobEffect: { kind: 'hold' },
      });
      expect(reply).toMatchObject({ job: { cause: 'held' }, host: { held: true } });
      on.clock.advance(7_200_000);
      expect((await on.gate.resume(on.host)).call).toEqual([on.job(1)]);
    });

    it('reopens after a cooldown with one request, and only then with the others', async () => {
      const on = fixture();
      const more = { rules: RAMPED };
      await on.enter(upTo(8), more);
      await on.throttle(1, await on.admitted(1, more), 10_000, more);
      on.clock.advance(10_000);
      const scout = await on.admitted(2, more);
      expect(await on.waits(3, more)).toMatchObject({ cause: 'probe_in_flight' });
      on.clock.advance(50);
      await on.settle(2, scout, more);
      expect(await on.admitted(3, more)).toMatchObject({ kind: 'admitted' });
      expect(await on.waits(4, more)).toMatchObject({ cause: 'pace' });
    });

    it('counts all 429s of one epoch as one event', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, concurrency: 8 } };
      await on.enter(upTo(8), more);
      const admissions = [];
      for (const number of upTo(8)) admissions.push(await on.admitted(number, more));
      for (const number of upTo(8)) {
        const admission = admissions[number - 1];
        if (admission !== undefined) {
          await on.throttle(number, admission, 1000, { ...more, hostEffect: { noHint: true } });
        }
      }
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ epoch: 1, noHintEvents: 1 });
    });

    it('slows down for a 503 that names a wait as for a 429, and for no other', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, concurrency: 8, learn: LEARN } };
      await on.enter(upTo(3), more);
      const failed = { ...more, outcome: 'unavailable', jobEffect: { kind: 'done' } } as const;
      await on.settle(1, await on.admitted(1, more), failed);
      expect(await on.gate.inspectHost(on.host)).toMatchObject({
        epoch: 0,
        pace: { learnedIntervalMs: 0 },
      });
      on.clock.advance(500);
      const admission = await on.admitted(2, more);
      const cooldownUntilMs = on.clock.now() + 1_000;
      const asked = { cooldownUntilMs, noHint: false, hold: null, rateLimit: null };
      await on.settle(2, admission, { ...failed, hostEffect: asked });
      expect(await on.gate.inspectHost(on.host)).toMatchObject({
        cooldownUntilMs,
        epoch: 1,
        pace: { learnedIntervalMs: 1000, phase: 'steady' },
        circuit: { state: 'closed' },
      });
    });

    it('counts events without a usable wait in a row, and a success ends the row', async () => {
      const on = fixture();
      await on.enter(upTo(4));
      for (const number of [1, 2]) {
        await on.throttle(number, await on.admitted(number), 1000, { hostEffect: { noHint: true } });
        on.clock.advance(1000);
      }
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ noHintEvents: 2 });
      await on.settle(3, await on.admitted(3));
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ noHintEvents: 0 });
    });

    it('lets a late result extend a cooldown and nothing else', async () => {
      const on = fixture();
      const more = {
        rules: { ...PLAIN_RULES, circuit: null, hostTokens: { perSuccess: 1, cap: 5, start: 1 } },
      };
      await on.enter([1]);
      const admission = await on.admitted(1, more);
      on.clock.advance(admission.leaseMs);
      const untilMs = on.clock.now() + 9000;
      const reply = await on.throttle(1, admission, 9000, more);
      expect(reply).toMatchObject({ kind: 'late', host: { cooldownUntilMs: untilMs } });
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ epoch: 0, cooldownUntilMs: untilMs });
    });

    it('learns, and forgets when told', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, learn: LEARN } };
      await on.enter([1], more);
      await on.throttle(1, await on.admitted(1, more), 1000, more);
      expect(await on.gate.inspectHost(on.host)).toMatchObject({
        pace: { learnedIntervalMs: 1000, phase: 'steady' },
      });
      await on.gate.setPaceOverride(on.host, { kind: 'reset' });
      expect(await on.gate.inspectHost(on.host)).toMatchObject({ pace: { learnedIntervalMs: 0 } });
    });

    it('goes by the pace that the owner fixed', async () => {
      const on = fixture();
      await on.enter(upTo(2));
      await on.gate.setPaceOverride(on.host, { kind: 'fixed', intervalMs: 2000 });
      await on.admitted(1);
      on.clock.advance(1900);
      expect(await on.waits(2)).toMatchObject({ cause: 'pace' });
      on.clock.advance(100);
      await on.admitted(2);
    });

    it('takes a host token for a re-send, and fills the bucket with first successes', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, hostTokens: { perSuccess: 0.5, cap: 2, start: 1 } } };
      const again = { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false } as const;
      await on.enter(upTo(3), more);
      const first = await on.admitted(1, more);
      await on.settle(1, first, { ...more, outcome: 'transport', jobEffect: again });
      const second = await on.admitted(1, { ...more, delivery: 2 });
      expect(second.facts.hostTokensLeft).toBe(0);
      await on.settle(1, second, { ...more, delivery: 2, outcome: 'transport', jobEffect: again });
      expect(await on.admit(1, { ...more, delivery: 3 })).toMatchObject({
        kind: 'stop',
        reason: 'retry_budget',
      });
      for (const number of [2, 3]) await on.settle(number, await on.admitted(number, more), more);
      expect(await on.admitted(1, { ...more, delivery: 3 })).toMatchObject({ attempt: 3 });
    });

    it('takes no host token for a re-send after a throttle: cooldown and pace govern that one', async () => {
      const on = fixture();
      const more = { rules: { ...PLAIN_RULES, hostTokens: { perSuccess: 0.5, cap: 2, start: 0 } } };
      await on.enter([1], more);
      await on.settle(1, await on.admitted(1, more), {
        ...more,
        outcome: 'throttled',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false },
      });
      expect(await on.admitted(1, { ...more, delivery: 2 })).toMatchObject({ attempt: 2 });
    });

    it('lists hosts in pages', async () => {
      const on = fixture();
      for (const [index, name] of ['a.example', 'b.example', 'c.example'].entries()) {
        await on.enter([index + 1], { host: name as HostKey });
      }
      const first = await on.gate.listHosts('', 2);
      expect(first.hosts).toEqual(['a.example', 'b.example']);
      expect(await on.gate.listHosts(first.cursor ?? '', 2)).toEqual({ hosts: ['c.example'], cursor: null });
    });
  });
}
