import TinyQueue from 'tinyqueue';
import { CLOSED_CIRCUIT, type Circuit, isServing, settleCircuit } from '../core/circuit.ts';
import type { HostEffect } from '../core/host-effect.ts';
import { lessonOf } from '../core/failing-host.ts';
import { settlePace } from '../core/learn-pace.ts';
import type { OutcomeClass } from '../core/outcome.ts';
import { NEW_PACE, type PaceState, commitPace, paceInterval, paceOpensAt } from '../core/pace.ts';
import type { HostRules } from '../gate/gate.ts';
import { hostRulesOf } from '../gate/host-rules.ts';
import type { SimulatedHost } from './scenario.ts';

/** A URL that has been asked for at least once, or is being asked for. Fresh ones are only counted. */
export interface JobInPlay {
  readonly enteredAtMs: number;
  attempts: number;
  run: number;
  throttledInRun: number;
  wasThrottled: boolean;
  deferrals: number;
  notBeforeMs: number;
}

export interface Lease {
  readonly job: JobInPlay;
  readonly admittedAtMs: number;
  readonly epoch: number;
  readonly generation: number;
  readonly bound: boolean;
  readonly id: string;
}

export interface HostResult {
  readonly outcome: OutcomeClass;
  readonly effect: HostEffect;
  readonly latencyMs: number;
}

/**
 * One host as the gate keeps it, for one batch and without names: the same barriers in the same order, and the
 * circuit, the pace and the rules of the core itself. Lanes, calls and hand-overs are left out, since in virtual
 * time nobody is late to their turn.
 */
export class HostInPlay {
  readonly host: SimulatedHost;
  readonly rules: HostRules;
  /** URLs that were never asked for. */
  fresh: number;
  readonly waiting = new TinyQueue<JobInPlay>([], (a, b) => a.notBeforeMs - b.notBeforeMs);
  inFlight = 0;
  held: string | null = null;
  cooldownUntilMs = 0;
  noHintEvents = 0;
  events = 0;
  tokens: number | null;
  pace: PaceState;
  circuit: Circuit = CLOSED_CIRCUIT;
  #leases = 0;

  constructor(host: SimulatedHost) {
    this.host = host;
    this.rules = hostRulesOf(host.policy);
    this.fresh = host.urls;
    this.tokens = this.rules.hostTokens?.start ?? null;
    this.pace = host.learnedPerSecond === null ? NEW_PACE : learnedPace(1000 / host.learnedPerSecond);
  }

  get left(): number {
    return this.fresh + this.waiting.length;
  }

  /** When the next admission can be tried; Infinity: not before something else happens. */
  opensAt(nowMs: number): number {
    if (this.held !== null || this.inFlight >= this.rules.concurrency) return Infinity;
    const { circuit } = this;
    if (circuit.state === 'half_open') return Infinity;
    if (circuit.state === 'open' && this.inFlight > 0) return Infinity;
    const openMs = circuit.state === 'open' ? circuit.openUntilMs : 0;
    const barrierMs = Math.max(nowMs, openMs, this.cooldownUntilMs, paceOpensAt(this.pace, nowMs));
    const first = this.waiting.peek();
    const jobMs = this.fresh > 0 ? 0 : (first?.notBeforeMs ?? Infinity);
    return Math.max(barrierMs, jobMs);
  }

  /** The job whose turn it is: retried jobs keep their place before those that were never asked for. */
  next(nowMs: number, enteredAtMs: number): JobInPlay | null {
    const first = this.waiting.peek();
    if (first !== undefined && first.notBeforeMs <= nowMs) return this.waiting.pop() ?? null;
    if (this.fresh === 0) return null;
    this.fresh -= 1;
    return {
      enteredAtMs,
      attempts: 0,
      run: 1,
      throttledInRun: 0,
      wasThrottled: false,
      deferrals: 0,
      notBeforeMs: 0,
    };
  }

  admit(job: JobInPlay, nowMs: number): Lease {
    const resend = job.attempts > 0;
    if (resend && !job.wasThrottled && this.tokens !== null) this.tokens -= 1;
    job.attempts += 1;
    this.inFlight += 1;
    this.#leases += 1;
    const { state, bound } = commitPace(this.pace, this.rules, nowMs);
    this.pace = state;
    const id = String(this.#leases);
    const { generation } = this.circuit;
    if (this.circuit.state !== 'closed') {
      const probeUntilMs = nowMs + this.rules.attemptMs + this.rules.leaseMarginMs;
      this.circuit = { ...this.circuit, state: 'half_open', probe: id, probeUntilMs };
    }
    return { job, admittedAtMs: nowMs, epoch: this.events, generation, bound, id };
  }

  settle(lease: Lease, { outcome, effect, latencyMs }: HostResult, nowMs: number): void {
    const { rules } = this;
    this.inFlight -= 1;
    this.cooldownUntilMs = Math.max(this.cooldownUntilMs, effect.cooldownUntilMs);
    const current = lease.epoch === this.events;
    const lesson = lessonOf(this.pace, { outcome, current, cooldownUntilMs: effect.cooldownUntilMs });
    const event = current && lesson === 'throttled';
    const shared = { outcome, current, cooldownUntilMs: this.cooldownUntilMs };
    this.pace = settlePace(
      this.pace,
      rules,
      {
        ...shared,
        outcome: lesson,
        bound: lease.bound,
        latencyMs,
        rateLimit: effect.rateLimit,
        inFlight: this.inFlight,
      },
      nowMs,
    );
    if (event) this.noHintEvents = effect.noHint ? this.noHintEvents + 1 : 0;
    else if (current && isServing(outcome)) this.noHintEvents = 0;
    this.#settleCircuit({ ...shared, leaseId: lease.id, generation: lease.generation, event }, nowMs);
    if (event) this.events += 1;
    if (rules.hostTokens !== null && lease.job.attempts === 1 && isServing(outcome)) {
      this.tokens = Math.min(rules.hostTokens.cap, (this.tokens ?? 0) + rules.hostTokens.perSuccess);
    }
    if (effect.hold !== null) this.held = effect.hold.reason;
  }

  intervalMs(nowMs: number): number {
    return paceInterval(this.pace, this.rules, nowMs);
  }

  #settleCircuit(result: Parameters<typeof settleCircuit>[2], nowMs: number): void {
    const before = this.circuit;
    this.circuit = settleCircuit(before, this.rules.circuit, result, nowMs);
    if (this.circuit.state === 'open' && before.state !== 'open') {
      this.pace = { ...this.pace, reopening: 1, scoutUntilMs: 0 };
    }
  }
}

function learnedPace(intervalMs: number): PaceState {
  return {
    ...NEW_PACE,
    phase: 'steady',
    intervalMs,
    ceilingMs: intervalMs,
    recoverFromMs: intervalMs,
  };
}
