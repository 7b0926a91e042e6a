import type { AdmitReply, AdmitRequest } from '@holdoff/throttle-core';
import type { Attempt, Target } from './attempt.ts';
import { ADMISSION_REPEATS, repeatGateCall } from './repeat-gate-call.ts';

/** A gate that keeps saying "soon" is not worth a seat for longer than this many short waits. */
const INLINE_WAITS_MAX = 20;

export type Admitted = Extract<AdmitReply, { kind: 'admitted' }> & {
  /** This process's monotonic clock just before the question: the latest instant that `admittedAtMs` can be. */
  readonly askedAtMonotonicMs: number;
};

export type Answer = Admitted | Exclude<AdmitReply, { kind: 'admitted' }>;

/** Asks for one request on the wire. Short waits are waited out here, without a lease; others are answered. */
export async function askGate(
  attempt: Attempt,
  target: Target,
  purpose: AdmitRequest['purpose'],
): Promise<Answer> {
  const { gate, monotonicMs, sleep, events } = attempt.parts;
  const { signal } = attempt.delivery;
  for (let waits = 0; ; waits += 1) {
    const askedAtMonotonicMs = monotonicMs();
    const request: AdmitRequest = {
      job: attempt.delivery.job,
      host: target.scope.host,
      batch: attempt.batch,
      nonce: attempt.nonce(),
      delivery: attempt.delivery.number,
      purpose,
      attemptsMax: target.scope.policy.attempts.totalMax ?? 0,
      rules: target.scope.rules,
    };
    const reply = await repeatGateCall(
      () => gate.admit(request),
      ADMISSION_REPEATS,
      (ms) => sleep(ms, signal),
    );
    if (reply.kind === 'admitted') return { ...reply, askedAtMonotonicMs };
    if (reply.kind === 'wait')
      events.waited({ cause: reply.cause, inline: reply.inline, gateNowMs: reply.nowMs });
    if (reply.kind !== 'wait' || !reply.inline || waits >= INLINE_WAITS_MAX) return reply;
    await sleep(Math.max(1, reply.untilMs - reply.nowMs), signal);
    if (signal.aborted) return reply;
  }
}
