import { describe, expect, test } from 'vitest';
import { hostRulesOf } from '../gate/host-rules.ts';
import { sampleJobFacts, sampleOutcome, samplePlanInput, waitSeconds } from '../testing/sample-plan-input.ts';
import { backoffWindowMs } from './backoff.ts';
import { settlePace } from './learn-pace.ts';
import { commitPace, NEW_PACE, paceOpensAt } from './pace.ts';
import { planRetry } from './plan-retry.ts';
import { PRESETS } from './presets.ts';
import { batchTokenTotal } from './retry-budget.ts';

/** Refuses for 30 s from its first answer on; every hit before the end moves it to one minute after the hit. */
class ExtendingHost {
  #untilMs = 30_000;

  /** Seconds to wait; 0: served. */
  hit(atMs: number): number {
    if (atMs >= this.#untilMs && atMs > 0) return 0;
    if (atMs > 0) this.#untilMs = atMs + 60_000;
    return Math.ceil((this.#untilMs - atMs) / 1000);
  }
}

describe('the ladder: exponential back-off against Retry-After 30 that early hits extend to 60', () => {
  test('climbing it costs six refusals and 126 s', () => {
    const host = new ExtendingHost();
    let atMs = 0;
    let refusals = 0;
    while (host.hit(atMs) > 0) {
      refusals += 1;
      atMs += backoffWindowMs(refusals, { kind: 'full', baseMs: 2000, capMs: 64_000 });
    }
    expect({ refusals, atMs }).toEqual({ refusals: 6, atMs: 126_000 });
  });

  test('obeying the first header costs one wait, whatever the draw', () => {
    for (const draw01 of [0, 0.25, 0.5, 0.75, 1]) {
      const host = new ExtendingHost();
      let atMs = 0;
      let attempts = 1;
      for (let asked = host.hit(atMs); asked > 0; asked = host.hit(atMs)) {
        const plan = planRetry(
          samplePlanInput({
            wait: waitSeconds(asked),
            job: sampleJobFacts({ attempts, deadlineMs: 0 }),
            draw01,
            nowMs: atMs,
            receivedAtMs: atMs,
          }),
        );
        atMs = plan.notBeforeMs ?? Infinity;
        attempts += 1;
      }
      expect(attempts).toBe(2);
      expect(atMs).toBeGreaterThanOrEqual(30_000);
      expect(atMs).toBeLessThanOrEqual(38_500);
    }
  });
});

/** Gives `perSecond` answers a second, up to a second's worth at once. */
class LimitedHost {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #atMs = 0;
  served = 0;
  refused = 0;

  constructor(perSecond: number) {
    this.#perMs = perSecond / 1000;
    this.#burst = perSecond;
    this.#tokens = perSecond;
  }

  hit(atMs: number): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (atMs - this.#atMs) * this.#perMs);
    this.#atMs = atMs;
    const isServed = this.#tokens >= 1 - 1e-9;
    if (isServed) this.#tokens -= 1;
    this.served += isServed ? 1 : 0;
    this.refused += isServed ? 0 : 1;
    return isServed;
  }

  get refusedShare(): number {
    return this.refused / (this.served + this.refused);
  }
}

const HOUR_MS = 3_600_000;

describe('16 workers at a host that gives 2 requests a second', () => {
  test('each retrying every 2 s, three quarters of the requests are refused', () => {
    const host = new LimitedHost(2);
    for (let tick = 0; tick < HOUR_MS / 125; tick += 1) host.hit(tick * 125);
    expect(host.refusedShare).toBeGreaterThan(0.749);
    expect(host.refusedShare).toBeLessThan(0.751);
  });

  test('sharing pause and learned pace, below 1 % are, and the host is used well', () => {
    const host = new LimitedHost(2);
    const policy = PRESETS.balanced;
    const rules = hostRulesOf(policy);
    const latencyMs = 100;
    let pace = NEW_PACE;
    let epoch = 1;
    let cooldownUntilMs = 0;
    let flights: {
      readonly backAtMs: number;
      readonly epoch: number;
      readonly bound: boolean;
      readonly isServed: boolean;
    }[] = [];

    for (let nowMs = 1; nowMs < HOUR_MS; nowMs += 1) {
      const back = flights.filter(({ backAtMs }) => backAtMs <= nowMs);
      flights = flights.filter(({ backAtMs }) => backAtMs > nowMs);
      for (const flight of back) {
        const current = flight.epoch === epoch;
        const plan = planRetry(
          samplePlanInput({
            outcome: sampleOutcome(flight.isServed ? 'served' : 'throttled'),
            wait: waitSeconds(1),
            job: sampleJobFacts({ deadlineMs: 0 }),
            policy,
            nowMs,
            receivedAtMs: nowMs,
          }),
        );
        cooldownUntilMs = Math.max(cooldownUntilMs, plan.hostEffect.cooldownUntilMs);
        const result = { outcome: flight.isServed ? ('served' as const) : ('throttled' as const) };
        const rest = {
          bound: flight.bound,
          cooldownUntilMs,
          latencyMs,
          rateLimit: null,
          inFlight: flights.length,
        };
        pace = settlePace(pace, rules, { ...result, ...rest, current }, nowMs);
        if (!flight.isServed && current) epoch += 1;
      }
      const isFree = nowMs >= cooldownUntilMs && nowMs >= paceOpensAt(pace, nowMs);
      if (!isFree || flights.length >= policy.concurrency) continue;
      const commit = commitPace(pace, rules, nowMs);
      pace = commit.state;
      flights.push({ backAtMs: nowMs + latencyMs, epoch, bound: commit.bound, isServed: host.hit(nowMs) });
    }

    const goodput = host.served / (HOUR_MS / 1000) / 2;
    expect(host.refusedShare, `${host.refused} of ${host.served + host.refused}`).toBeLessThan(0.01);
    expect(goodput, `${host.served} served`).toBeGreaterThan(0.85);
  });
});

describe('100 jobs of 3 attempts with 20 tokens at a host that never recovers', () => {
  test('send 120 attempts at most, and every job ends with a reason', () => {
    const policy = PRESETS['strict-budget'];
    let tokens = batchTokenTotal(policy.batchTokens, 100, 20) ?? Infinity;
    let sent = 0;
    const ends: Record<string, number> = {};
    for (let number = 0; number < 100; number += 1) {
      for (let attempts = 1; ; attempts += 1) {
        sent += 1;
        const job = sampleJobFacts({
          attempts,
          deadlineMs: 9e15,
          batchTokensLeft: tokens,
          hostTokensLeft: null,
        });
        const plan = planRetry(
          samplePlanInput({ outcome: sampleOutcome('unavailable'), wait: waitSeconds(1), policy, job }),
        );
        if (plan.jobEffect.kind === 'stop') {
          ends[plan.jobEffect.reason] = (ends[plan.jobEffect.reason] ?? 0) + 1;
          break;
        }
        tokens -= 1;
      }
    }
    expect(sent).toBe(120);
    expect(ends).toEqual({ attempts: 10, retry_budget: 90 });
  });
});
