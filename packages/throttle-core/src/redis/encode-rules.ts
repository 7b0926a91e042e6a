import type { HostRules } from '../gate/gate.ts';

const MICRO = 1_000_000;
const known = new WeakMap<HostRules, readonly string[]>();

/** The rules in the order fragments/rules.lua reads. '' means absent. Kept for each rules object: it is asked for on every call. */
export function encodeRules(rules: HostRules): readonly string[] {
  const before = known.get(rules);
  if (before !== undefined) return before;
  const { learn, circuit, ramp, hostTokens } = rules;
  const tokens = [hostTokens?.perSuccess, hostTokens?.cap, hostTokens?.start];
  const fields = [
    rules.concurrency,
    rules.paceIntervalMs,
    learn?.startIntervalMs,
    learn?.floorIntervalMs,
    learn?.ceilingIntervalMs,
    learn?.doubleAfterSuccesses,
    learn?.doubleAfterMs,
    learn?.decrease,
    learn?.recoveryLeastMs,
    learn?.recoveryPauses,
    learn?.recoveryMostMs,
    learn?.keepMs,
    circuit?.responsesMax,
    circuit?.eventsMax,
    circuit?.openMs,
    circuit?.growth,
    circuit?.openMostMs,
    ramp?.durationMs,
    ramp?.startFraction,
    ...tokens.map((each) => (each === undefined ? undefined : Math.round(each * MICRO))),
    rules.attemptMs,
    rules.headroomMs,
    rules.leaseMarginMs,
    rules.inlineMaxMs,
  ];
  const encoded = fields.map((field) => (field === undefined ? '' : String(field)));
  known.set(rules, encoded);
  return encoded;
}
