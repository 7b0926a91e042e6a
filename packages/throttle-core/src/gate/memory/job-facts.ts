import type { JobFacts } from '../../core/plan-retry.ts';
import type { HostRules } from '../gate.ts';
import type { BatchEntry, HostEntry, JobEntry } from './memory-state.ts';
import { batchTokensLeft } from './memory-state.ts';

export const MICRO = 1_000_000;

/** Micro-tokens; null: the bucket is off. */
export function hostTokens(host: HostEntry, rules: Pick<HostRules, 'hostTokens'>): number | null {
  if (rules.hostTokens === null) return null;
  return host.tokens ?? Math.round(rules.hostTokens.start * MICRO);
}

export function factsOf(
  job: JobEntry,
  host: HostEntry,
  batch: BatchEntry | undefined,
  tokens: number | null,
): JobFacts {
  return {
    attempts: job.attempts,
    run: job.run,
    throttledInRun: job.throttledInRun,
    deferrals: job.deferrals,
    startedAtMs: job.enteredAtMs,
    deadlineMs: job.deadlineMs,
    notBeforeMs: job.notBeforeMs,
    noHintEvents: host.noHintEvents,
    cooldownUntilMs: host.cooldownUntilMs,
    openUntilMs: host.circuit.state === 'closed' ? 0 : host.circuit.openUntilMs,
    batchTokensLeft: batchTokensLeft(batch),
    hostTokensLeft: tokens === null ? null : Math.floor(tokens / MICRO),
  };
}
