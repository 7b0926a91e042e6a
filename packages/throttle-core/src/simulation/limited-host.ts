import { hostRulesOf } from '../gate/host-rules.ts';
import { settlePace } from '../core/learn-pace.ts';
import { commitPace, NEW_PACE, paceOpensAt, type PaceState } from '../core/pace.ts';
import { PRESETS } from '../core/presets.ts';
import { planSimulated, secondsWait } from './simulated-plan.ts';

export interface FleetResult {
  readonly served: number;
  readonly refused: number;
}

/** Gives a number of answers a second, up to a second's worth at once, and asks the refused to wait 1 s. */
class LimitedHost {
  readonly #perSecond: number;
  #tokens: number;
  #atMs = 0;
  served = 0;
  refused = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
  }

  hit(atMs: number): boolean {
    const earned = ((atMs - this.#atMs) * this.#perSecond) / 1000;
    this.#tokens = Math.min(this.#perSecond, this.#tokens + earned);
    this.#atMs = atMs;
    const isServed = this.#tokens >= 1 - ROUNDING;
    if (isServed) {
      this.#tokens -= 1;
      this.served += 1;
    } else this.refused += 1;
    return isServed;
  }
}

const ROUNDING = 1e-9;
const LATENCY_MS = 100;

/** Workers that each ask every `everyMs`, whatever they are told. */
export function hammerHost(
  perSecond: number,
  workers: number,
  everyMs: number,
  durationMs: number,
): FleetResult {
  const host = new LimitedHost(perSecond);
  const stepMs = everyMs / workers;
  for (let atMs = 0; atMs < durationMs; atMs += stepMs) host.hit(atMs);
  return { served: host.served, refused: host.refused };
}

interface Flight {
  readonly backAtMs: number;
  readonly epoch: number;
  readonly bound: boolean;
  readonly isServed: boolean;
}

/** A fleet that shares the host's pause and learned pace under the default policy, always with work to do. */
export function shareHost(perSecond: number, durationMs: number): FleetResult {
  const host = new LimitedHost(perSecond);
  const fleet = new SharingFleet();
  for (let nowMs = 1; nowMs < durationMs; nowMs += 1) {
    fleet.receive(nowMs);
    if (fleet.maySend(nowMs)) fleet.send(nowMs, host.hit(nowMs));
  }
  return { served: host.served, refused: host.refused };
}

class SharingFleet {
  readonly #rules = hostRulesOf(PRESETS.balanced);
  #pace: PaceState = NEW_PACE;
  #epoch = 1;
  #cooldownUntilMs = 0;
  #flights: readonly Flight[] = [];

  maySend(nowMs: number): boolean {
    const isOpen = nowMs >= this.#cooldownUntilMs && nowMs >= paceOpensAt(this.#pace, nowMs);
    return isOpen && this.#flights.length < this.#rules.concurrency;
  }

  send(nowMs: number, isServed: boolean): void {
    const { state, bound } = commitPace(this.#pace, this.#rules, nowMs);
    this.#pace = state;
    this.#flights = [...this.#flights, { backAtMs: nowMs + LATENCY_MS, epoch: this.#epoch, bound, isServed }];
  }

  receive(nowMs: number): void {
    const back = this.#flights.filter(({ backAtMs }) => backAtMs <= nowMs);
    if (back.length === 0) return;
    this.#flights = this.#flights.filter(({ backAtMs }) => backAtMs > nowMs);
    for (const flight of back) this.#settle(flight, nowMs);
  }

  #settle({ epoch, bound, isServed }: Flight, nowMs: number): void {
    const outcome = isServed ? 'served' : 'throttled';
    const { hostEffect } = planSimulated({
      policy: PRESETS.balanced,
      outcome,
      wait: secondsWait(1),
      nowMs,
      draw01: 0.5,
      job: {},
    });
    this.#cooldownUntilMs = Math.max(this.#cooldownUntilMs, hostEffect.cooldownUntilMs);
    const current = epoch === this.#epoch;
    const result = {
      outcome,
      current,
      bound,
      cooldownUntilMs: this.#cooldownUntilMs,
      latencyMs: LATENCY_MS,
      rateLimit: null,
      inFlight: this.#flights.length,
    } as const;
    this.#pace = settlePace(this.#pace, this.#rules, result, nowMs);
    if (!isServed && current) this.#epoch += 1;
  }
}

export function refusedShare({ served, refused }: FleetResult): number {
  return refused / (served + refused);
}
