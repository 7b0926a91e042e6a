import type { OutcomeClass } from './classify-outcome.ts';

/**
 * The circuit of one host: our inference that it refuses everybody, next to the cooldown, which is its own word.
 *
 * - closed: requests go. Opens after too many 429 responses or 429 events in a row.
 * - open: none goes until `openUntilMs`; then, with nothing in flight, the next admission is the probe.
 * - half_open: exactly one probe is out, until its lease ends. Served: closed. Throttled or failed: open, longer.
 *   Neutral (cancelled, shutdown, refused for its own sake): the probe is free again.
 *
 * Results of an older generation change nothing. `redis/fragments/circuit.lua` is the twin; change them together.
 */
export interface Circuit {
  readonly state: 'closed' | 'open' | 'half_open';
  /** Grows with every opening and closing. */
  readonly generation: number;
  readonly openUntilMs: number;
  /** Openings in a row without a closing between them: each is longer. */
  readonly opens: number;
  /** 429s in a row, and 429 events in a row. */
  readonly responses: number;
  readonly events: number;
  /** The probe's lease; '': none is out. */
  readonly probe: string;
  readonly probeUntilMs: number;
}

export interface CircuitRules {
  readonly responsesMax: number;
  /** 0: events are not counted. */
  readonly eventsMax: number;
  readonly openMs: number;
  readonly growth: number;
  readonly openMostMs: number;
}

export interface CircuitResult {
  readonly outcome: OutcomeClass;
  readonly leaseId: string;
  readonly generation: number;
  /** The first 429 of its epoch. */
  readonly event: boolean;
  /** Admitted in the host's present epoch: a slow success from before the storm does not end the streak. */
  readonly current: boolean;
  /** The host's cooldown with this result applied. */
  readonly cooldownUntilMs: number;
}

export const CLOSED_CIRCUIT: Circuit = {
  state: 'closed',
  generation: 0,
  openUntilMs: 0,
  opens: 0,
  responses: 0,
  events: 0,
  probe: '',
  probeUntilMs: 0,
};

const OPENS_COUNTED_MAX = 30;

/** Any answer that shows the host at work: a page, a redirect, "not found". */
export function isServing(outcome: OutcomeClass): boolean {
  return outcome === 'served' || outcome === 'permanent';
}

export function settleCircuit(
  circuit: Circuit,
  rules: CircuitRules | null,
  result: CircuitResult,
  nowMs: number,
): Circuit {
  if (result.generation !== circuit.generation) return circuit;
  switch (circuit.state) {
    case 'closed':
      return rules === null ? circuit : settleClosed(circuit, rules, result, nowMs);
    case 'half_open':
      return circuit.probe === result.leaseId ? settleProbe(circuit, rules, result, nowMs) : circuit;
    case 'open':
      return circuit;
  }
}

function settleClosed(circuit: Circuit, rules: CircuitRules, result: CircuitResult, nowMs: number): Circuit {
  if (result.outcome === 'throttled') {
    const responses = circuit.responses + 1;
    const events = circuit.events + (result.event ? 1 : 0);
    const counted = { ...circuit, responses, events };
    const over = responses >= rules.responsesMax || (rules.eventsMax > 0 && events >= rules.eventsMax);
    return over ? open(counted, rules, result.cooldownUntilMs, nowMs) : counted;
  }
  return isServing(result.outcome) && result.current ? { ...circuit, responses: 0, events: 0 } : circuit;
}

function settleProbe(
  circuit: Circuit,
  rules: CircuitRules | null,
  result: CircuitResult,
  nowMs: number,
): Circuit {
  if (isServing(result.outcome)) return closeCircuit(circuit);
  const saysNothing = result.outcome === 'neutral' || result.outcome === 'blocked';
  if (saysNothing) return { ...circuit, probe: '', probeUntilMs: 0 };
  return rules === null ? circuit : open(circuit, rules, result.cooldownUntilMs, nowMs);
}

function open(circuit: Circuit, rules: CircuitRules, cooldownUntilMs: number, nowMs: number): Circuit {
  const opens = circuit.opens + 1;
  // Multiplied step by step: two languages' powers differ in the last bit.
  let openMs = rules.openMs;
  for (let step = 2; step <= Math.min(OPENS_COUNTED_MAX, opens); step += 1) {
    openMs = Math.min(rules.openMostMs, openMs * rules.growth);
  }
  return {
    ...CLOSED_CIRCUIT,
    state: 'open',
    generation: circuit.generation + 1,
    opens,
    openUntilMs: Math.max(nowMs + Math.ceil(Math.min(rules.openMostMs, openMs)), cooldownUntilMs),
  };
}

export function closeCircuit(circuit: Circuit): Circuit {
  return { ...CLOSED_CIRCUIT, generation: circuit.generation + 1 };
}
