import { type BatchId, batchDefaultsOf, type Gate } from '@holdoff/throttle-core';
import { parsePolicyFile, resolvePolicy, spendPolicyOf } from '@holdoff/throttle-core/policy-file';
import { readStoredPolicy } from '@holdoff/throttle-core/redis';
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
  const stored = await readStoredPolicy(store.redis, deployment);
  const parsed = parsePolicyFile(stored?.text ?? '', stored?.name ?? 'balanced preset');
  if (parsed.kind === 'invalid') throw new Error('the fleet works by a policy that this version cannot read');
  const { policy } = resolvePolicy(parsed.file, '');
  const reply = await store.gate.createBatch({
    batch: batch as BatchId,
    defaults: batchDefaultsOf(policy, {
      tokens,
      approved: null,
      owner: 'enqueue',
      deadlineMs: null,
      spend: spendPolicyOf(parsed.file).limits,
    }),
  });
  const total = reply.batch.tokens?.total;
  if (reply.kind === 'exists' && total !== tokens) {
    throw new Error(
      `batch ${batch} exists with ${total ?? 'unlimited'} retry tokens; leave --retry-tokens out`,
    );
  }
}
