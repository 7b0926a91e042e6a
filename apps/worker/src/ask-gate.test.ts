import type { AdmitReply, AdmitRequest, LeaseId } from '@holdoff/throttle-core';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import { sampleJobFacts } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import { askGate } from './ask-gate.ts';
import { sampleAttempt, sampleTarget, sampleWorld } from './testing/sample-attempt.ts';

const ADMITTED: AdmitReply = {
  kind: 'admitted',
  leaseId: 'lease' as LeaseId,
  attempt: 1,
  probe: false,
  generation: 0,
  epoch: 0,
  tokensLeft: null,
  leaseMs: 35_000,
  admittedAtMs: 1_000,
  facts: sampleJobFacts(),
};

function waits(waitMs: number, inline: boolean): AdmitReply {
  return {
    kind: 'wait',
    cause: 'pace',
    untilMs: 1_000 + waitMs,
    inline,
    place: 0,
    fallbackMs: 31_000,
    nowMs: 1_000,
    facts: sampleJobFacts(),
  };
}

/** Asks a gate that gives these answers in turn, the last one for ever. */
async function ask(answers: readonly (AdmitReply | 'unavailable')[], signal = new AbortController().signal) {
  const { parts, gate, seen, clock } = sampleWorld();
  const asked: AdmitRequest[] = [];
  const admit = async (request: AdmitRequest): Promise<AdmitReply> => {
    asked.push(request);
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === 'unavailable' || answer === undefined) throw new GateUnavailable('admit', undefined);
    return answer;
  };
  const attempt = sampleAttempt({ ...parts, gate: { ...gate, admit } }, { signal });
  const startedAtMs = clock.now();
  const reply = await askGate(attempt, sampleTarget(), 'attempt').catch((error: unknown) => error);
  return { reply, asked, slept: seen.slept, startedAtMs };
}

test('short waits are waited out, each question with a nonce of its own', async () => {
  const { reply, asked, slept, startedAtMs } = await ask([waits(200, true), waits(50, true), ADMITTED]);
  expect(reply).toMatchObject({ kind: 'admitted', askedAtMonotonicMs: startedAtMs + 250 });
  expect(slept).toEqual([200, 50]);
  expect(new Set(asked.map(({ nonce }) => nonce)).size).toBe(3);
});

test('an unavailable gate is asked again with the same nonce, so that nothing is charged twice', async () => {
  const { reply, asked } = await ask(['unavailable', 'unavailable', ADMITTED]);
  expect(reply).toMatchObject({ kind: 'admitted' });
  expect(new Set(asked.map(({ nonce }) => nonce)).size).toBe(1);
});

test.each([
  { what: 'a long wait', answer: waits(60_000, false), asks: 1 },
  { what: 'a gate that says "soon" without end', answer: waits(100, true), asks: 21 },
  {
    what: 'a stop',
    answer: { kind: 'stop', reason: 'deadline', nowMs: 1, facts: sampleJobFacts() } as const,
    asks: 1,
  },
  { what: 'a stale delivery', answer: { kind: 'stale', ended: null } as const, asks: 1 },
])('$what leaves the worker after $asks questions', async ({ answer, asks }) => {
  const { reply, asked } = await ask([answer]);
  expect(reply).toEqual(answer);
  expect(asked).toHaveLength(asks);
});

test('a gate that stays away is given up after four tries', async () => {
  const { reply, asked } = await ask(['unavailable']);
  expect(reply).toBeInstanceOf(GateUnavailable);
  expect(asked).toHaveLength(4);
});

test('a cut delivery does not ask again after its wait', async () => {
  const { reply, asked } = await ask([waits(100, true)], AbortSignal.abort());
  expect(reply).toMatchObject({ kind: 'wait' });
  expect(asked).toHaveLength(1);
});
