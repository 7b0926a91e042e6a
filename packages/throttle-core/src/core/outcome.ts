import type { StopReason } from './stop-reason.ts';

/** How an attempt ended. 429 is `throttled`, never a failure. `neutral` says nothing about the host. */
export const OUTCOME_CLASSES = [
  'served',
  'throttled',
  'unavailable',
  'transport',
  'blocked',
  'permanent',
  'neutral',
] as const;
export type OutcomeClass = (typeof OUTCOME_CLASSES)[number];

/** Who produced the answer that ended the attempt. */
export type ResponseSource = 'client' | 'proxy' | 'destination';

export interface Outcome {
  readonly class: OutcomeClass;
  readonly source: ResponseSource;
  /** Set where the job cannot go on whatever the budgets say. */
  readonly stop: StopReason | null;
  /** One short sentence for people: "429 Too Many Requests", "connection reset by the server". */
  readonly detail: string;
}

/** What a row of the outcome tables decides, and what docs/outcomes.md says about it. */
export interface Verdict {
  readonly when: string;
  readonly class: OutcomeClass;
  readonly source: ResponseSource;
  readonly stop: StopReason | null;
  readonly why: string;
}
