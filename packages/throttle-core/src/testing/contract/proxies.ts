import { describe, expect, it } from 'vitest';
import { proxyScope } from '../../core/proxy-circuit.ts';
import type { AskProxyReply, SettleProxyReply, SettleProxyRequest } from '../../gate/proxy-gate.ts';
import { type GateFixture, PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

const PROXY = proxyScope('p1');
const OPEN_MS = 30_000;
const PROBE_MS = 35_000;
type Go = Extract<AskProxyReply, { kind: 'go' }>;

const DOWN = { kind: 'failed', failure: 'proxy', cooldownUntilMs: 0, why: 'proxy p1: ECONNREFUSED' } as const;

function ask(on: GateFixture, number: number, delivery = 1): Promise<AskProxyReply> {
  return on.gate.askProxy({
    job: on.job(number),
    proxy: PROXY,
    nonce: on.nonce(),
    delivery,
    probeMs: PROBE_MS,
    neededMs: 30_500,
  });
}

async function passes(on: GateFixture, number: number, delivery = 1): Promise<Go> {
  const reply = await ask(on, number, delivery);
  if (reply.kind !== 'go') throw new Error(`expected a pass, got ${JSON.stringify(reply)}`);
  return reply;
}

function settle(
  on: GateFixture,
  { probe, generation }: Go,
  result: SettleProxyRequest['result'],
): Promise<SettleProxyReply> {
  return on.gate.settleProxy({ proxy: PROXY, nonce: on.nonce(), probe, generation, result });
}

/** Jobs 1 to 5 go through it and fail. */
async function open(on: GateFixture): Promise<void> {
  await on.enter(upTo(40));
  const out = [];
  for (const number of upTo(5)) out.push(await passes(on, number));
  for (const pass of out) await settle(on, pass, DOWN);
}

async function stateOf(on: GateFixture): Promise<unknown> {
  return (await on.gate.inspectHost(PROXY))?.circuit.state;
}

export function describeProxies(fixture: Fixture): void {
  describe('a proxy, a scope by itself', () => {
    it('has no state until it fails', async () => {
      const on = fixture();
      await on.enter([1]);
      await settle(on, await passes(on, 1), { kind: 'through' });
      expect(await on.gate.inspectHost(PROXY)).toBeUndefined();
    });

    it('is closed to all by five failures in a row, with the reason, and its hosts learn nothing', async () => {
      const on = fixture();
      await open(on);
      const until = on.clock.now() + OPEN_MS;
      expect(await on.gate.inspectHost(PROXY)).toMatchObject({
        circuit: { state: 'open', openUntilMs: until, opens: 1 },
        why: DOWN.why,
      });
      expect(await ask(on, 6)).toMatchObject({
        kind: 'wait',
        cause: 'circuit_open',
        untilMs: until,
        place: 0,
      });
      const job = await on.gate.inspectJob(on.job(6));
      expect(job?.waiting).toMatchObject({ cause: 'circuit_open', scope: PROXY, place: 0 });
      expect(job?.trail[0]?.detail).toBe(`${PROXY} circuit_open until ${until}; ${DOWN.why}`);
      expect(job?.facts).toMatchObject({ attempts: 0 });
      const host = await on.gate.inspectHost(on.host);
      expect(host?.circuit.state ?? 'closed').toBe('closed');
      expect(host?.cooldownUntilMs ?? 0).toBe(0);
    });

    it('stays open for others when a request comes through in between', async () => {
      const on = fixture();
      await on.enter(upTo(20));
      for (const number of upTo(12)) {
        const result = number % 4 === 0 ? ({ kind: 'through' } as const) : DOWN;
        await settle(on, await passes(on, number), result);
      }
      expect(await stateOf(on)).toBe('closed');
    });

    it('is closed at once by wrong credentials, and late by destinations that it cannot reach', async () => {
      const on = fixture();
      await on.enter(upTo(40));
      for (const number of upTo(24))
        await settle(on, await passes(on, number), { ...DOWN, failure: 'destination' });
      expect(await stateOf(on)).toBe('closed');
      await settle(on, await passes(on, 25), { ...DOWN, failure: 'destination' });
      expect(await stateOf(on)).toBe('open');

      const other = fixture();
      await other.enter([1]);
      await settle(other, await passes(other, 1), { ...DOWN, failure: 'credentials' });
      expect(await stateOf(other)).toBe('open');
    });

    it('keeps the wait that it asked for, and a shorter one takes nothing away', async () => {
      const on = fixture();
      await on.enter([1, 2, 3]);
      const until = on.clock.now() + 120_000;
      await settle(on, await passes(on, 1), { ...DOWN, cooldownUntilMs: until });
      expect(await ask(on, 2)).toMatchObject({ kind: 'wait', cause: 'cooldown', untilMs: until });
      await settle(
        on,
        { kind: 'go', probe: '', generation: 0, points: 0, nowMs: 0, call: [] },
        { ...DOWN, cooldownUntilMs: on.clock.now() + 5_000 },
      );
      expect(await ask(on, 3)).toMatchObject({ untilMs: until });
    });

    it('lets one probe out, and lets the waiting ones go on when it comes through', async () => {
      const on = fixture();
      await open(on);
      for (const number of [6, 7, 8, 9]) await ask(on, number);
      on.clock.advance(OPEN_MS);
      const { call } = await on.gate.wake({ hostsMax: 10, jobsMax: 100 });
      expect(call.filter((job) => job > on.job(5))).toEqual([on.job(6)]);
      const probe = await passes(on, 6, 2);
      expect(probe.probe).not.toBe('');
      for (const number of [7, 10])
        expect(await ask(on, number, 2)).toMatchObject({ cause: 'probe_in_flight' });
      const reply = await settle(on, probe, { kind: 'through' });
      expect(reply.call).toEqual([7, 8, 9, 10].map((number) => on.job(number)));
      expect(await passes(on, 7, 3)).toMatchObject({ probe: '', points: 0 });
    });

    it('gives the same probe to the same question, and another one only after its time', async () => {
      const on = fixture();
      await open(on);
      on.clock.advance(OPEN_MS);
      const question = {
        job: on.job(6),
        proxy: PROXY,
        nonce: on.nonce(),
        delivery: 1,
        probeMs: PROBE_MS,
        neededMs: 0,
      };
      const first = await on.gate.askProxy(question);
      expect(await on.gate.askProxy(question)).toEqual(first);
      on.clock.advance(PROBE_MS - 1);
      expect(await ask(on, 7)).toMatchObject({ cause: 'probe_in_flight' });
      on.clock.advance(1);
      expect(await passes(on, 8)).toMatchObject({ probe: expect.stringContaining(on.job(8)) });
    });

    it('is closed for longer when the probe fails, and free at once when it was not used', async () => {
      const on = fixture();
      await open(on);
      on.clock.advance(OPEN_MS);
      await settle(on, await passes(on, 6), DOWN);
      expect(await ask(on, 7)).toMatchObject({ untilMs: on.clock.now() + 2 * OPEN_MS });
      on.clock.advance(2 * OPEN_MS);
      await settle(on, await passes(on, 8), { kind: 'unused' });
      expect((await passes(on, 9)).probe).not.toBe('');
    });

    it('is counted once for a result that is told twice', async () => {
      const on = fixture();
      await on.enter([1]);
      const { probe, generation } = await passes(on, 1);
      const told = { proxy: PROXY, nonce: on.nonce(), probe, generation, result: DOWN };
      for (let n = 0; n < 9; n += 1) await on.gate.settleProxy(told);
      expect(await on.gate.inspectHost(PROXY)).toMatchObject({
        circuit: { state: 'closed', consecutiveResponses: 5 },
      });
    });

    it('ends a job whose deadline cannot be met any more, and knows newer deliveries', async () => {
      const on = fixture();
      await open(on);
      await on.enter([50], { deadlineMs: on.clock.now() + 30_000 });
      expect(await ask(on, 50)).toMatchObject({ kind: 'stop', reason: 'deadline' });
      await ask(on, 7, 4);
      expect(await ask(on, 7, 3)).toEqual({ kind: 'stale', ended: null });
    });

    it('can be held and opened by its owner', async () => {
      const on = fixture();
      await on.enter([1]);
      await on.gate.hold(PROXY, 'contract ends', 'ann');
      expect(await ask(on, 1)).toMatchObject({ kind: 'wait', cause: 'held' });
      expect((await on.gate.resume(PROXY)).call).toEqual([on.job(1)]);
      expect(await passes(on, 1, 2)).toMatchObject({ probe: '' });
    });
  });

  describe('a request that is paid for already', () => {
    const rules = { ...PLAIN_RULES, hostTokens: { perSuccess: 0.1, cap: 1, start: 0 } };
    const defaults = {
      tokens: { kind: 'fixed', total: 0 },
      approved: true,
      owner: '',
      deadlineMs: 0,
      spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
    } as const;
    const retry = (on: GateFixture) =>
      ({ kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false, uncounted: true }) as const;

    it('is sent for nothing after one of which nothing was sent', async () => {
      const on = fixture();
      await on.enter([1], { defaults });
      for (let delivery = 1; delivery <= 9; delivery += 1) {
        const admission = await on.admitted(1, { delivery, rules, attemptsMax: 1 });
        expect(admission.attempt).toBe(1);
        await on.settle(1, admission, { delivery, rules, outcome: 'neutral', jobEffect: retry(on) });
      }
      const batch = await on.gate.inspectBatch(on.batch);
      expect(batch).toMatchObject({ attempts: 1, tokens: { spent: 0 } });
      // Once it was sent it counts again.
      await on.settle(1, await on.admitted(1, { delivery: 10, rules }), {
        delivery: 10,
        rules,
        outcome: 'transport',
        jobEffect: { kind: 'retry_at', notBeforeMs: on.clock.now(), inPlace: false },
      });
      expect(await on.admit(1, { delivery: 11, rules })).toMatchObject({
        kind: 'stop',
        reason: 'retry_budget',
      });
    });

    it('is sent for nothing three times for a result that was not taken, then it counts', async () => {
      const on = fixture();
      await on.enter([1], { defaults });
      for (let delivery = 1; delivery <= 4; delivery += 1) {
        const admission = await on.admitted(1, { delivery, rules });
        expect(admission.attempt).toBe(1);
        await on.settle(1, admission, { delivery, rules, jobEffect: { kind: 'continue', uncounted: true } });
        expect((await on.gate.inspectHost(on.host))?.leases).toEqual([]);
      }
      expect(await on.admit(1, { delivery: 5, rules })).toMatchObject({
        kind: 'stop',
        reason: 'retry_budget',
      });
    });

    it('is still that after a robots.txt in between', async () => {
      const on = fixture();
      await on.enter([1], { defaults });
      await on.settle(1, await on.admitted(1, { rules }), {
        rules,
        outcome: 'neutral',
        jobEffect: retry(on),
      });
      const robots = await on.admitted(1, { delivery: 2, rules, purpose: 'robots' });
      await on.settle(1, robots, { delivery: 2, rules, jobEffect: { kind: 'continue' } });
      expect((await on.admitted(1, { delivery: 2, rules })).attempt).toBe(1);
    });
  });
}
