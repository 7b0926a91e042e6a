import type { BatchId, Gate } from '@holdoff/throttle-core';
import { isBatchName } from '@holdoff/url-job';
import type { RunStore } from '../run/run-store.ts';
import { fleetBatchDefaults } from './fleet-batch-defaults.ts';
import { OperatorFault } from './operator-command.ts';

const REPLAYS_MAX = 1_000;

/**
 * The name that the next replay of a batch would have: `nightly-replay-2` after `nightly-replay-1`, also when it is
 * a replay that is replayed.
 */
export async function nextReplayName(gate: Pick<Gate, 'inspectBatch'>, batch: string): Promise<BatchId> {
  const base = batch.replace(/-replay-\d+$/, '');
  for (let number = 1; number <= REPLAYS_MAX; number += 1) {
    const name = `${base}-replay-${number}`;
    if (!isBatchName(name)) throw new OperatorFault(`${name} is too long for a batch: name one with --into`);
    if ((await gate.inspectBatch(name as BatchId)) === undefined) return name as BatchId;
  }
  throw new OperatorFault(`${base} has ${REPLAYS_MAX} replays already: name a batch with --into`);
}

export interface ReplayBudget {
  readonly batch: BatchId;
  readonly deadlineMs: number;
  /** null: the policy decides. */
  readonly tokens: number | null;
  readonly owner: string;
  /** false: the policy decides. */
  readonly isApproved: boolean;
}

/**
 * Creates the batch of a replay by the rules of any new batch: its retry tokens, approval and spending limits are
 * those of the policy in force, not what the first batch had left.
 */
export async function createReplayBatch(
  store: Pick<RunStore, 'redis' | 'gate'>,
  deployment: string,
  { batch, deadlineMs, tokens, owner, isApproved }: ReplayBudget,
): Promise<{ readonly kind: 'created' | 'exists'; readonly approved: boolean; readonly cancelled: boolean }> {
  const said = { tokens, approved: isApproved ? true : null, owner, deadlineMs };
  const reply = await store.gate.createBatch({
    batch,
    defaults: await fleetBatchDefaults(store, deployment, said),
  });
  return { kind: reply.kind, approved: reply.batch.approved, cancelled: reply.batch.cancelled };
}
