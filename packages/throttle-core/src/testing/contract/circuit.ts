import { describe, expect, it } from 'vitest';
import type { GateFixture } from '../gate-fixture.ts';
import { PLAIN_RULES } from '../gate-fixture.ts';
import { type Fixture, upTo } from './fixture.ts';

const circuit = { responsesMax: 3, eventsMax: 0, openMs: 600_000, growth: 2, openMostMs: 3_600_000 };
const more = { rules: { ...PLAIN_RULES, concurrency: 3, circuit } };

/** Three 429s of one event open it. */
async function open(on: GateFixture): Promise<void> {
  await on.enter(upTo(12), more);
  const admissions = [];
  for (const number of upTo(3)) admissions.push(await on.admitted(number, more));
  for (const [index, admission] of admissions.entries()) await on.throttle(index + 1, admission, 1000, more);
}

async function circuitOf(on: GateFixture): Promise<unknown> {
  return (await on.gate.inspectHost(on.host))?.circuit;
}

export function describeCircuit(fixture: Fixture): void {
  describe('the circuit', () => {
    it('opens after 429s in a row, for every worker, for the open time', async () => {
      const on = fixture();
      await open(on);
      const openUntilMs = on.clock.now() + 600_000;
      expect(await circuitOf(on)).toMatchObject({ state: 'open', generation: 1, openUntilMs, opens: 1 });
      on.clock.advance(599_999);
      expect(await on.waits(4, more)).toMatchObject({ cause: 'circuit_open', untilMs: openUntilMs });
    });

    it('opens after events in a row, one event however many 429s it has', async () => {
      const on = fixture();
      const events = { rules: { ...PLAIN_RULES, circuit: { ...circuit, responsesMax: 99, eventsMax: 2 } } };
      await on.enter(upTo(4), events);
      const pair = [await on.admitted(1, events), await on.admitted(2, events)] as const;
      await on.throttle(1, pair[0], 1000, events);
      await on.throttle(2, pair[1], 1000, events);
      expect(await circuitOf(on)).toMatchObject({ state: 'closed', consecutiveEvents: 1 });
      on.clock.advance(1000);
      await on.throttle(3, await on.admitted(3, events), 1000, events);
      expect(await circuitOf(on)).toMatchObject({ state: 'open' });
    });

    it('does not open while successes of the present epoch come between', async () => {
      const on = fixture();
      await on.enter(upTo(9), more);
      for (const number of upTo(9)) {
        const admission = await on.admitted(number, more);
        if (number % 3 === 0) await on.settle(number, admission, more);
        else await on.throttle(number, admission, 1000, more);
        on.clock.advance(1000);
      }
      expect(await circuitOf(on)).toMatchObject({ state: 'closed' });
    });

    it('is not held closed by a slow success from before the storm', async () => {
      const on = fixture();
      await on.enter(upTo(12), more);
      const slow = await on.admitted(1, more);
      await on.throttle(2, await on.admitted(2, more), 1000, more);
      on.clock.advance(1000);
      await on.throttle(3, await on.admitted(3, more), 1000, more);
      on.clock.advance(1000);
      await on.settle(1, slow, more);
      await on.throttle(4, await on.admitted(4, more), 1000, more);
      expect(await circuitOf(on)).toMatchObject({ state: 'open' });
    });

    it('lets exactly one probe out, and closes when it is served', async () => {
      const on = fixture();
      await open(on);
      on.clock.advance(600_000);
      const probe = await on.admitted(4, more);
      expect(probe.probe).toBe(true);
      for (const number of [5, 6]) {
        expect(await on.waits(number, more)).toMatchObject({ cause: 'probe_in_flight' });
      }
      await on.settle(4, probe, more);
      expect(await circuitOf(on)).toMatchObject({ state: 'closed', generation: 2, opens: 0, probe: null });
    });

    it('opens for longer when the probe is throttled or fails, up to a most', async () => {
      const on = fixture();
      await open(on);
      const opened: number[] = [];
      for (const number of [4, 5, 6, 7]) {
        const { openUntilMs } = (await on.gate.inspectHost(on.host))?.circuit ?? { openUntilMs: 0 };
        opened.push(openUntilMs - on.clock.now());
        on.clock.advance(openUntilMs - on.clock.now());
        const outcome = number % 2 === 0 ? 'throttled' : 'unavailable';
        await on.settle(number, await on.admitted(number, more), {
          ...more,
          outcome,
          jobEffect: { kind: 'done' },
        });
      }
      expect(opened).toEqual([600_000, 1_200_000, 2_400_000, 3_600_000]);
    });

    it('grants exactly one new probe when the prober died, after its lease', async () => {
      const on = fixture();
      await open(on);
      on.clock.advance(600_000);
      const dead = await on.admitted(4, more);
      on.clock.advance(dead.leaseMs - 1);
      await on.waits(5, more);
      on.clock.advance(1);
      const next = await on.admitted(5, more);
      expect(next.probe).toBe(true);
      await on.waits(6, more);
      await on.settle(4, dead, more);
      expect(await circuitOf(on)).toMatchObject({ state: 'half_open', probe: { leaseId: next.leaseId } });
    });

    it('frees the probe when its result says nothing of the host', async () => {
      const on = fixture();
      await open(on);
      on.clock.advance(600_000);
      const probe = await on.admitted(4, more);
      await on.settle(4, probe, { ...more, outcome: 'neutral', jobEffect: { kind: 'release' } });
      expect(await circuitOf(on)).toMatchObject({ state: 'half_open', probe: null });
      expect(await on.admitted(5, more)).toMatchObject({ probe: true });
    });

    it('waits for the last request in flight before it probes', async () => {
      const on = fixture();
      const slow = { rules: { ...more.rules, concurrency: 9, attemptMs: 900_000 } };
      await on.enter(upTo(9), slow);
      await on.admitted(9, slow);
      for (const number of upTo(3)) {
        await on.throttle(number, await on.admitted(number, slow), 1, slow);
        on.clock.advance(1);
      }
      expect(await circuitOf(on)).toMatchObject({ state: 'open' });
      on.clock.advance(600_000);
      expect(await on.waits(6, slow)).toMatchObject({ cause: 'circuit_open' });
    });

    it('is closed by its owner, who cannot shorten a cooldown', async () => {
      const on = fixture();
      await open(on);
      const { host, call } = await on.gate.resetCircuit(on.host);
      expect(host.circuit.state).toBe('closed');
      expect(call).toEqual([]);
      expect(await on.waits(4, more)).toMatchObject({ cause: 'cooldown' });
    });
  });
}
