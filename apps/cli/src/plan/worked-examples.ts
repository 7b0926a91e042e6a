import {
  climbLadder,
  hammerHost,
  obeyHeader,
  PRESETS,
  refusedShare,
  runFailingBatch,
  shareHost,
} from '@holdoff/throttle-core';
import { decideCase, type Decision, waitSecondsOf } from './decide-case.ts';
import { readPlanCase } from './plan-case.ts';

/** A case that is worth showing, under a preset. */
export interface ShownCase {
  readonly title: string;
  readonly preset: keyof typeof PRESETS;
  readonly fields: Readonly<Record<string, unknown>>;
}

const BUDGET_CASE = {
  method: 'GET',
  status: 503,
  attempts: 1,
  maxAttempts: 3,
  deadline: 20,
  attemptBudget: 5,
  tokens: 20,
  base: 1,
  cap: 4,
  draw: 0.5,
  retryAfter: '6',
};

export const DEMO_CASES: readonly ShownCase[] = [
  {
    title: 'A short wait: the job keeps its place, the whole fleet waits',
    preset: 'balanced',
    fields: { status: 429, retryAfter: '20', tokens: 10, hostTokens: 5 },
  },
  {
    title: 'Seven minutes: too long for this run, never cut',
    preset: 'balanced',
    fields: { status: 429, retryAfter: '420', tokens: 10, hostTokens: 5 },
  },
  {
    title: 'A throttle that names no wait',
    preset: 'balanced',
    fields: { status: 429, hintlessEvents: 1, tokens: 10, hostTokens: 5 },
  },
  {
    title: 'A wait of a day: a person decides',
    preset: 'balanced',
    fields: { status: 429, retryAfter: '86400', deadline: '7d', tokens: 10, hostTokens: 5 },
  },
  {
    title: 'Time is left: wait, then ask again',
    preset: 'strict-budget',
    fields: { ...BUDGET_CASE, elapsed: 4 },
  },
  {
    title: 'The same eight seconds later: stop now, and the fleet still learns',
    preset: 'strict-budget',
    fields: { ...BUDGET_CASE, elapsed: 12 },
  },
];

/** Plans a shown case. Its fields are ours, so a fault in them is a defect. */
export function decideShown({ preset, fields }: ShownCase, nowMs: number): Decision {
  const reading = readPlanCase(fields);
  if (reading.kind === 'faults')
    throw new Error(`a case of our own is wrong: ${JSON.stringify(reading.faults)}`);
  return decideCase(reading.case, { policy: PRESETS[preset], name: `preset ${preset}` }, nowMs);
}

export interface Check {
  readonly title: string;
  readonly expected: string;
  readonly got: string;
  readonly isPassed: boolean;
}

const HOUR_MS = 3_600_000;

/** Works every published example anew and compares. */
export function selfTest(nowMs: number): readonly Check[] {
  const budget = (elapsed: number): string => planText({ ...BUDGET_CASE, elapsed }, nowMs);
  const dated = new Date(Math.ceil(nowMs / 1000) * 1000 + 5000).toUTCString();
  const dateCase = { ...BUDGET_CASE, elapsed: 1, attemptBudget: 3, retryAfter: dated };
  const fleet = shareHost(2, HOUR_MS);
  const obeyed = obeyHeader(0.5);
  return [
    check('503, 4 of 20 s used, Retry-After 6', 'WAIT_THEN_RECHECK wait 6 slack 5', budget(4)),
    check('503, 12 of 20 s used, Retry-After 6', 'STOP deadline', budget(12)),
    check(
      '19 s left, a date in 5 s, next needs 3 s',
      'WAIT_THEN_RECHECK wait 5 slack 11',
      planText(dateCase, Math.ceil(nowMs / 1000) * 1000),
    ),
    check(
      '100 jobs x 3 attempts, 20 tokens',
      '120 attempts',
      `${runFailingBatch(100, 20).attempts} attempts`,
    ),
    check('the ladder, climbed', '6 refusals, 126 s', ladderText(climbLadder())),
    {
      ...check('the ladder, header obeyed', '1 refusal, 30 to 38.5 s', ladderText(obeyed)),
      isPassed: obeyed.refusals === 1 && obeyed.servedAtMs >= 30_000 && obeyed.servedAtMs <= 38_500,
    },
    check(
      '16 workers every 2 s at 2 requests/s',
      '75 % refused',
      `${Math.round(refusedShare(hammerHost(2, 16, 2000, HOUR_MS)) * 100)} % refused`,
    ),
    {
      ...check(
        'the same host, shared pace',
        'below 1 % refused',
        `${percent(refusedShare(fleet))} % refused`,
      ),
      isPassed: refusedShare(fleet) < 0.01,
    },
  ];
}

function check(title: string, expected: string, got: string): Check {
  return { title, expected, got, isPassed: expected === got };
}

function planText(fields: Readonly<Record<string, unknown>>, nowMs: number): string {
  const decision = decideShown({ title: '', preset: 'strict-budget', fields }, nowMs);
  const { jobEffect, slackMs } = decision.plan;
  if (jobEffect.kind === 'stop') return `${decision.name} ${jobEffect.reason}`;
  return `${decision.name} wait ${waitSecondsOf(decision)} slack ${(slackMs ?? 0) / 1000}`;
}

function ladderText({
  refusals,
  servedAtMs,
}: {
  readonly refusals: number;
  readonly servedAtMs: number;
}): string {
  return `${refusals} ${refusals === 1 ? 'refusal' : 'refusals'}, ${servedAtMs / 1000} s`;
}

function percent(share: number): string {
  return (share * 100).toFixed(2);
}
