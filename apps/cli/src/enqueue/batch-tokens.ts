import type { BatchId, Gate } from '@holdoff/throttle-core';
import { fleetBatchDefaults } from '../operator/fleet-batch-defaults.ts';
import type { RunStore } from '../run/run-store.ts';

/**
 * Creates a batch with its own number of retry tokens, before its first job would create it by the policy.
 *
 * @throws Error when the batch exists with another number: a budget is not changed by sending more URLs
 */
export async function createBatchWithTokens(
  store: Pick<RunStore, 'redis'> & { readonly gate: Pick<Gate, 'createBatch'> },
  batch: string,
  tokens: number,
  deployment: string,
): Promise<void> {
  const said = { tokens, approved: null, owner: 'enqueue', deadlineMs: null };
  const reply = await store.gate.createBatch({
    batch: batch as BatchId,
    defaults: await fleetBatchDefaults(store, deployment, said),
  });
  const total = reply.batch.tokens?.total;
  if (reply.kind === 'exists' && total !== tokens) {
    throw new Error(
      `batch ${batch} exists with ${total ?? 'unlimited'} retry tokens; leave --retry-tokens out`,
    );
  }
}
