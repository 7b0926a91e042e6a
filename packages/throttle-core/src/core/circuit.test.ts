import { describe, expect, test } from 'vitest';
import {
  CLOSED_CIRCUIT,
  type Circuit,
  type CircuitResult,
  type CircuitRules,
  closeCircuit,
  settleCircuit,
} from './circuit.ts';

const NOW = 1_000_000;
const rules: CircuitRules = {
  responsesMax: 3,
  eventsMax: 2,
  openMs: 600_000,
  growth: 2,
  openMostMs: 2_000_000,
};
const refused: CircuitResult = {
  outcome: 'throttled',
  leaseId: 'lease-1',
  generation: 0,
  event: false,
  current: true,
  cooldownUntilMs: 0,
};
const served: CircuitResult = { ...refused, outcome: 'served' };

const after = (results: readonly Partial<CircuitResult>[], given: CircuitRules | null = rules): Circuit =>
  results.reduce<Circuit>(
    (circuit, result) => settleCircuit(circuit, given, { ...refused, ...result }, NOW),
    CLOSED_CIRCUIT,
  );

describe('closed', () => {
  test('opens at the 429 that makes the streak, in a new generation', () => {
    expect(after([{}, {}])).toMatchObject({ state: 'closed', responses: 2 });
    expect(after([{}, {}, {}])).toEqual({
      ...CLOSED_CIRCUIT,
      state: 'open',
      generation: 1,
      opens: 1,
      openUntilMs: NOW + 600_000,
    });
  });

  test('opens at the event that makes the streak, unless events are not counted', () => {
    expect(after([{ event: true }, { event: true }]).state).toBe('open');
    expect(after([{ event: true }, { event: true }], { ...rules, eventsMax: 0 })).toMatchObject({
      state: 'closed',
      events: 2,
    });
  });

  test.each(['served', 'permanent'] as const)('%s of the present epoch ends the streak', (outcome) => {
    expect(after([{}, { event: true }, { outcome }])).toMatchObject({ responses: 0, events: 0 });
    expect(after([{}, { event: true }, { outcome, current: false }])).toMatchObject({
      responses: 2,
      events: 1,
    });
  });

  test.each(['unavailable', 'transport', 'neutral', 'blocked'] as const)(
    '%s counts for nothing',
    (outcome) => {
      expect(after([{}, { outcome }])).toEqual(after([{}]));
    },
  );

  test('stays open as long as the cooldown, if that is longer', () => {
    expect(after([{}, {}, { cooldownUntilMs: NOW + 700_000 }]).openUntilMs).toBe(NOW + 700_000);
  });

  test('without rules nothing opens it', () => {
    expect(after([{}, {}, {}, {}], null)).toBe(CLOSED_CIRCUIT);
  });
});

describe('half open', () => {
  const probing: Circuit = {
    ...CLOSED_CIRCUIT,
    state: 'half_open',
    generation: 5,
    opens: 1,
    probe: 'probe',
    probeUntilMs: NOW + 35_000,
  };
  const told = (
    result: Partial<CircuitResult>,
    from = probing,
    given: CircuitRules | null = rules,
  ): Circuit => settleCircuit(from, given, { ...refused, leaseId: 'probe', generation: 5, ...result }, NOW);

  test.each(['served', 'permanent'] as const)('closes when the probe brings %s', (outcome) => {
    expect(told({ outcome })).toEqual({ ...CLOSED_CIRCUIT, generation: 6 });
  });

  test.each(['throttled', 'unavailable', 'transport'] as const)(
    'opens for twice as long when the probe brings %s',
    (outcome) => {
      expect(told({ outcome })).toMatchObject({
        state: 'open',
        generation: 6,
        opens: 2,
        openUntilMs: NOW + 1_200_000,
        probe: '',
      });
    },
  );

  test('never stays open for longer than the most, however often it opened', () => {
    for (const opens of [2, 29, 30, 10_000]) {
      expect(told({}, { ...probing, opens }).openUntilMs).toBe(NOW + 2_000_000);
    }
  });

  test.each(['neutral', 'blocked'] as const)(
    '%s says nothing: the next request may be the probe',
    (outcome) => {
      expect(told({ outcome })).toEqual({ ...probing, probe: '', probeUntilMs: 0 });
    },
  );

  test('only the probe itself is believed', () => {
    expect(told({ outcome: 'served', leaseId: 'another' })).toBe(probing);
  });

  test('closes by its probe also where a new policy has no circuit, and does not open again', () => {
    expect(told({ outcome: 'served' }, probing, null).state).toBe('closed');
    expect(told({ outcome: 'throttled' }, probing, null)).toBe(probing);
  });
});

test('an open circuit, and any circuit of another generation, ignore results', () => {
  const open = after([{}, {}, {}]);
  expect(settleCircuit(open, rules, { ...served, generation: 1 }, NOW)).toBe(open);
  expect(settleCircuit(open, rules, served, NOW)).toBe(open);
  expect(settleCircuit(CLOSED_CIRCUIT, rules, { ...refused, generation: 1 }, NOW)).toBe(CLOSED_CIRCUIT);
});

test('closing it by hand forgets the streaks and begins a generation', () => {
  expect(closeCircuit(after([{}, {}, {}]))).toEqual({ ...CLOSED_CIRCUIT, generation: 2 });
});
