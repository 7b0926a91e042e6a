import type { BatchTokenPolicy } from './policy.ts';

/** 0: no limit. Cost is counted in millionths of the operator's currency unit. */
export interface SpendLimits {
  readonly bytesMax: number;
  readonly requestsMax: number;
  readonly costMicrosMax: number;
}

/** What a batch has used so far. */
export interface Spent {
  readonly bytes: number;
  readonly requests: number;
  readonly costMicros: number;
}

export type SpendKind = 'bytes' | 'requests' | 'cost';

/**
 * The retry tokens of a batch with `jobs` jobs; null: the bucket is off. Never refilled, so that a batch of J jobs
 * and R tokens sends at most J + R attempts whatever happens. `named`: the batch's own number, which the policy
 * kind `explicit` demands: without one there are none, rather than a guess.
 */
export function batchTokenTotal(policy: BatchTokenPolicy, jobs: number, named: number | null): number | null {
  if (named !== null) return named;
  switch (policy.kind) {
    case 'off':
      return null;
    case 'explicit':
      return 0;
    case 'share':
      return shareTokens(policy.share, policy.least, jobs);
  }
}

/**
 * max(least, ceil(share x jobs)) in integers: 0.07 x 100 is 7.000000000000001 as a double, and its ceiling one too
 * many. redis/fragments/batch-state.lua is the twin.
 */
export function shareTokens(share: number, least: number, jobs: number): number {
  const parts = Math.round(share * PARTS);
  return Math.max(least, Math.floor((parts * jobs + PARTS - 1) / PARTS));
}

const PARTS = 1_000_000;

/** What use costs the operator. Millionths of the operator's currency unit; 0: free. */
export interface Prices {
  readonly microsPerGigabyte: number;
  readonly microsPerThousandRequests: number;
}

/** What an attempt costs, in whole millionths rounded up: many small uses must not come out free. */
export function costMicrosOf(prices: Prices, used: Pick<Spent, 'bytes' | 'requests'>): number {
  const bytesCost = (used.bytes * prices.microsPerGigabyte) / 1_000_000_000;
  return Math.ceil(bytesCost + (used.requests * prices.microsPerThousandRequests) / 1000);
}

/** The first limit that has been reached; null: the batch may spend more. */
export function spendReached(limits: SpendLimits, spent: Spent): SpendKind | null {
  if (reached(spent.bytes, limits.bytesMax)) return 'bytes';
  if (reached(spent.requests, limits.requestsMax)) return 'requests';
  if (reached(spent.costMicros, limits.costMicrosMax)) return 'cost';
  return null;
}

function reached(used: number, max: number): boolean {
  return max > 0 && used >= max;
}

/**
 * The bucket a re-send would find empty; null: neither. Advice only, since others spend at the same time: the
 * gate takes the tokens at dispatch. A whole token is needed, so a host bucket of 0.9 is empty.
 */
export function emptyBucket(
  batchTokensLeft: number | null,
  hostTokensLeft: number | null,
): 'batch' | 'host' | null {
  if (batchTokensLeft !== null && batchTokensLeft < 1) return 'batch';
  if (hostTokensLeft !== null && hostTokensLeft < 1) return 'host';
  return null;
}
