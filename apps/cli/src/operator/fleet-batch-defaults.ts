import { type BatchDefaults, batchDefaultsOf, type BatchRequest } from '@holdoff/throttle-core';
import { parsePolicyFile, resolvePolicy, spendPolicyOf } from '@holdoff/throttle-core/policy-file';
import { readStoredPolicy } from '@holdoff/throttle-core/redis';
import type { RunStore } from '../run/run-store.ts';
import { OperatorFault } from './operator-command.ts';

/**
 * How a batch begins under the policy that the fleet works by, with what its owner says for it. Every command that
 * creates a batch asks here, so that none has defaults of its own.
 *
 * @throws OperatorFault when the fleet's policy cannot be read by this version
 */
export async function fleetBatchDefaults(
  store: Pick<RunStore, 'redis'>,
  deployment: string,
  said: Omit<BatchRequest, 'spend'> & { readonly spend?: Partial<BatchRequest['spend']> },
): Promise<BatchDefaults> {
  const stored = await readStoredPolicy(store.redis, deployment);
  const parsed = parsePolicyFile(stored?.text ?? '', stored?.name ?? 'balanced preset');
  if (parsed.kind === 'invalid')
    throw new OperatorFault('the fleet works by a policy that this version cannot read');
  const { policy } = resolvePolicy(parsed.file, '');
  const spend = { ...spendPolicyOf(parsed.file).limits, ...said.spend };
  return batchDefaultsOf(policy, { ...said, spend });
}
