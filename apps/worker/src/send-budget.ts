import type { Target, WorkerParts } from './attempt.ts';

/**
 * What one request may still take, ms: of one budget for all hops of the attempt, counted from the question that began
 * it. 0 for a worker that was frozen between the question to the gate and here: its lease may be somebody else's by now.
 */
export function sendBudget(
  target: Target,
  firstAskedAtMs: number,
  askedAtMs: number,
  parts: Pick<WorkerParts, 'monotonicMs'>,
): number {
  const nowMs = parts.monotonicMs();
  if (nowMs - askedAtMs > target.scope.rules.leaseMarginMs) return 0;
  return Math.max(0, target.scope.policy.deadline.attemptMs - (nowMs - firstAskedAtMs));
}
