import type { JobFacts } from '../core/plan-retry.ts';
import type { JobEnd } from '../gate/gate.ts';
import { STOP_REASONS, type StopReason } from '../core/stop-reason.ts';
import type { ReplyReader } from './reply-reader.ts';

/** Reads what fragments/facts.lua writes. */
export function decodeFacts(reply: ReplyReader): JobFacts {
  return {
    attempts: reply.number(),
    run: reply.number(),
    throttledInRun: reply.number(),
    deferrals: reply.number(),
    startedAtMs: reply.number(),
    deadlineMs: reply.number(),
    notBeforeMs: reply.number(),
    noHintEvents: reply.number(),
    cooldownUntilMs: reply.number(),
    openUntilMs: reply.number(),
    batchTokensLeft: reply.numberOrNull(),
    hostTokensLeft: reply.numberOrNull(),
  };
}

export function decodeStopReason(text: string): StopReason {
  const reason = STOP_REASONS.find((known) => known === text);
  if (reason === undefined) throw new TypeError(`unknown stop reason ${text}`);
  return reason;
}

/** '' (alive), 'done' or a stop reason. */
export function decodeEnd(text: string): JobEnd | null {
  if (text === '') return null;
  return text === 'done' ? { kind: 'done' } : { kind: 'stopped', reason: decodeStopReason(text) };
}

export function encodeEnd(end: JobEnd): string {
  return end.kind === 'done' ? 'done' : end.reason;
}

/** `wait_cause` texts come from our own scripts only; an unknown one is a defect. */
export function decodeCause<Cause extends string>(text: string, known: readonly Cause[]): Cause {
  const cause = known.find((each) => each === text);
  if (cause === undefined) throw new TypeError(`unknown cause ${text}`);
  return cause;
}
