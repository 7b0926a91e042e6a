import type { AdmitReply, LeaseId } from '@holdoff/throttle-core';
import { sampleJobFacts, sampleOutcome } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import type { Admitted } from './ask-gate.ts';
import type { Target } from './attempt.ts';
import { answerOf, evidenceOf } from './decide-step.ts';
import type { PageExchange } from './fetch-page.ts';
import { sampleAttempt, sampleExchange, sampleTarget, sampleWorld } from './testing/sample-attempt.ts';

/** The gate's clock, which has nothing to do with this machine's. */
const ADMITTED_AT_MS = 1_900_000_000_000;

/** Reads one exchange that took its own time since the question. */
function answer(change: Partial<PageExchange>, target: Partial<Target> = {}) {
  const { parts, clock } = sampleWorld();
  const admitted: Admitted = {
    kind: 'admitted',
    leaseId: 'lease' as LeaseId,
    attempt: 1,
    probe: false,
    generation: 0,
    epoch: 0,
    tokensLeft: null,
    leaseMs: 35_000,
    admittedAtMs: ADMITTED_AT_MS,
    facts: sampleJobFacts({ deadlineMs: 0 }),
    askedAtMonotonicMs: clock.now(),
  } satisfies AdmitReply & { askedAtMonotonicMs: number };
  const exchange = sampleExchange(change);
  clock.advance(exchange.durationMs);
  return answerOf(sampleAttempt(parts), sampleTarget(target), admitted, exchange);
}

const throttled = { outcome: sampleOutcome('throttled'), status: 429, latencyMs: 1_000, durationMs: 3_000 };
const redirect = { status: 302, redirectTo: 'https://other.example/end' };

test('a wait counts from the receipt of the headers, on the clock of the gate', () => {
  const { step } = answer({ ...throttled, headers: { 'retry-after': ['100'] } });
  // The headers came a second after the admission; the policy pads 100 s to 125 s, and spreads by up to 1 s.
  const least = ADMITTED_AT_MS + 1_000 + 125_000;
  expect(step.plan.hostEffect.cooldownUntilMs).toBeGreaterThanOrEqual(least);
  expect(step.plan.hostEffect.cooldownUntilMs).toBeLessThanOrEqual(least + 1_000);
  expect(step.plan.notBeforeMs).toBeGreaterThanOrEqual(least);
});

test('of repeated Retry-After lines the longest counts', () => {
  const one = answer({ ...throttled, headers: { 'retry-after': ['200'] } });
  const two = answer({ ...throttled, headers: { 'retry-after': ['5', '200'] } });
  expect(two.step.plan.hostEffect).toEqual(one.step.plan.hostEffect);
});

test.each<{
  what: string;
  exchange: Partial<PageExchange>;
  target?: Partial<Target>;
  step: { kind: string; next: string | null; effect: string };
}>([
  { what: 'a served page', exchange: {}, step: { kind: 'conclude', next: null, effect: 'done' } },
  {
    what: 'a redirect',
    exchange: redirect,
    step: { kind: 'follow', next: redirect.redirectTo, effect: 'continue' },
  },
  {
    what: 'a redirect that asks to wait',
    exchange: { ...redirect, headers: { 'retry-after': ['20'] } },
    step: { kind: 'conclude', next: redirect.redirectTo, effect: 'continue' },
  },
  {
    what: 'a redirect that asks to wait for longer than a run may',
    exchange: { ...redirect, headers: { 'retry-after': ['600'] } },
    step: { kind: 'conclude', next: redirect.redirectTo, effect: 'defer' },
  },
  {
    what: 'a redirect to itself',
    exchange: { ...redirect, redirectTo: 'https://site.example/page' },
    step: { kind: 'conclude', next: null, effect: 'stop' },
  },
  {
    what: 'one redirect too many',
    exchange: redirect,
    target: { hops: 5 },
    step: { kind: 'conclude', next: null, effect: 'stop' },
  },
  {
    what: 'a step down to http',
    exchange: { ...redirect, redirectTo: 'http://other.example/end' },
    step: { kind: 'conclude', next: null, effect: 'stop' },
  },
])('$what: $step.kind, $step.effect', ({ exchange, target, step }) => {
  const said = answer(exchange, target).step;
  expect({ kind: said.kind, next: said.next?.url ?? null, effect: said.plan.jobEffect.kind }).toEqual(step);
});

test('the evidence is one bounded line that says what was seen, and under which policy', () => {
  const { exchange, hints, step } = answer({ ...throttled, headers: { 'retry-after': ['100'] } });
  expect(evidenceOf(exchange, hints, step.plan, 7)).toMatch(/^throttled; retry-after: 100 s; .+; policy v7$/);
  const long = { ...exchange, outcome: sampleOutcome('throttled', { detail: 'x'.repeat(1_000) }) };
  expect(evidenceOf(long, hints, step.plan, 7)).toHaveLength(300);
});
