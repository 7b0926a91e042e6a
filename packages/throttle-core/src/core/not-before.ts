import { backoffMs } from './backoff.ts';
import type { HostEffect } from './host-effect.ts';
import { bindingOf, type PlanInput } from './plan-input.ts';
import type { Binding, DeferCause } from './plan-reason.ts';
import { type PadInput, paddedInstantMs, type ServerWait } from './server-wait.ts';

/**
 * Why this run is over; null: it goes on. The run's limit comes first: it waits for the next run, and a long wait
 * that went around it would bring the job back earlier than a short one.
 */
export function deferCauseOf(input: PlanInput): DeferCause | null {
  const { policy, job, outcome } = input;
  const { throttledPerRunMax } = policy.attempts;
  const isThrottled = outcome.class === 'throttled';
  if (isThrottled && throttledPerRunMax !== null && job.throttledInRun + 1 > throttledPerRunMax) {
    return 'run_limit';
  }
  const wait = bindingOf(input);
  const { deferOverMs } = policy.retryAfter;
  if (wait.kind === 'delay') {
    return deferOverMs !== null && wait.seconds * 1000 > deferOverMs ? 'long_wait' : null;
  }
  return isThrottled && outcome.source === 'destination' ? 'no_hint' : null;
}

/**
 * The latest of all instants that bind the job. The order of the list breaks ties for the explanation only.
 * An instant that was stored for this outcome stands: planning it again must not restart the countdown.
 */
export function notBeforeOf(
  input: PlanInput,
  hostEffect: HostEffect,
  deferCause: DeferCause | null,
): { readonly notBeforeMs: number; readonly binding: Binding } {
  if (input.storedNotBeforeMs !== null) return { notBeforeMs: input.storedNotBeforeMs, binding: 'stored' };
  const { job, policy, nowMs, draw01 } = input;
  const wait = bindingOf(input);
  const instants: [Binding, number][] = [['server_wait', serverInstant(input, wait)]];
  if (startsNextRun(input, wait, deferCause))
    instants.push(['next_run', nowMs + policy.defer.nextRunAfterMs]);
  if (input.redirect === null) {
    // A redirect goes on at a host of its own, whose clocks the gate asks for the hop.
    instants.push(
      // The pause that the fleet is about to learn holds for this job too.
      ['cooldown', Math.max(job.cooldownUntilMs, hostEffect.cooldownUntilMs)],
      ['circuit', job.openUntilMs],
      ['backoff', nowMs + backoffMs(job.attempts, policy.backoff, draw01)],
    );
  }
  let latest: [Binding, number] = ['now', Math.ceil(nowMs)];
  for (const candidate of instants) if (candidate[1] > latest[1]) latest = candidate;
  return { notBeforeMs: Math.ceil(latest[1]), binding: latest[0] };
}

function serverInstant(input: PlanInput, wait: ServerWait): number {
  return wait.kind === 'delay' ? paddedInstantMs(padInputOf(input), wait.seconds) : 0;
}

function padInputOf({ job, policy, draw01, receivedAtMs }: PlanInput): PadInput {
  return { receivedAtMs, policy: policy.retryAfter, noHintEvents: job.noHintEvents, draw01 };
}

/** A run that is over for its 429s waits for the next one; a long wait or a missing hint has its own instant. */
function startsNextRun({ policy }: PlanInput, wait: ServerWait, cause: DeferCause | null): boolean {
  if (cause === 'run_limit') return true;
  return cause === 'no_hint' && wait.kind === 'absent' && policy.retryAfter.onAbsent === 'defer';
}

/**
 * A short wait keeps the job's host slot: the whole host pauses meanwhile, so the slot is idle anyway. Not longer
 * than such a pause can last, or another cause of delay would keep a usable slot from the other jobs.
 */
export function staysInPlace(input: PlanInput, notBeforeMs: number): boolean {
  const { retryAfter } = input.policy;
  const wait = bindingOf(input);
  if (input.outcome.class !== 'throttled' || wait.kind !== 'delay' || retryAfter.inPlaceMaxMs === 0)
    return false;
  const longestMs = paddedInstantMs(
    { ...padInputOf(input), noHintEvents: 0, draw01: 1 },
    retryAfter.inPlaceMaxMs / 1000,
  );
  return wait.seconds * 1000 <= retryAfter.inPlaceMaxMs && notBeforeMs <= longestMs;
}
