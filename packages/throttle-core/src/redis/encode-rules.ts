import type { HostRules } from '../gate/gate.ts';

const MICRO = 1_000_000;
const known = new WeakMap<HostRules, string>();

/**
 * The rules as the scripts decode them (fragments/rules.lua): one JSON object, where what is off is missing. One
 * argument costs caller and server a fraction of one for each number. Kept for each rules object: it is asked for on
 * every call.
 */
export function encodeRules(rules: HostRules): string {
  const before = known.get(rules);
  if (before !== undefined) return before;
  const { learn, circuit, ramp, hostTokens } = rules;
  const encoded = JSON.stringify({
    cap: rules.concurrency,
    paceIntervalMs: rules.paceIntervalMs,
    keepMs: learn?.keepMs ?? 0,
    learn: learn ?? undefined,
    circuit: circuit ?? undefined,
    ramp: ramp ?? undefined,
    tokens: hostTokens === null ? undefined : inMicros(hostTokens),
    attemptMs: rules.attemptMs,
    headroomMs: rules.headroomMs,
    leaseMarginMs: rules.leaseMarginMs,
    inlineMaxMs: rules.inlineMaxMs,
  });
  known.set(rules, encoded);
  return encoded;
}

/** Whole numbers, so that sums of fractions stay exact. */
function inMicros(tokens: NonNullable<HostRules['hostTokens']>): Readonly<Record<string, number>> {
  return {
    perSuccess: Math.round(tokens.perSuccess * MICRO),
    cap: Math.round(tokens.cap * MICRO),
    start: Math.round(tokens.start * MICRO),
  };
}
