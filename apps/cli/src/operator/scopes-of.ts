import { type HostKey, hostKeyThrough } from '@holdoff/throttle-core';
import { parsePolicyFile, resolvePolicy } from '@holdoff/throttle-core/policy-file';
import { readStoredPolicy } from '@holdoff/throttle-core/redis';
import { knownProxyPools, queueNames } from '@holdoff/url-job';
import type { RunStore } from '../run/run-store.ts';

/**
 * The scopes of the gate that a host stands for: itself, or, where the policy in force limits each exit by itself, the
 * host as seen through each proxy of its pool. What is done to a host is done to all of them.
 */
export async function scopesOf(
  { redis }: Pick<RunStore, 'redis'>,
  deployment: string,
  host: HostKey,
): Promise<readonly HostKey[]> {
  const stored = await readStoredPolicy(redis, deployment);
  const parsed = parsePolicyFile(stored?.text ?? '', stored?.name ?? 'balanced preset');
  // A name with a colon is a scope already, or an address.
  if (parsed.kind === 'invalid' || (host.includes(':') && !host.startsWith('['))) return [host];
  const { hostKey, settings } = resolvePolicy(parsed.file, host);
  if (settings.throttleScope !== 'exit' || settings.proxyRef === null) return [host];
  const pools = await knownProxyPools(redis, queueNames(deployment));
  const proxies = pools.get(settings.proxyRef)?.proxies ?? [];
  return proxies.length === 0 ? [host] : proxies.map((proxy) => hostKeyThrough(hostKey, proxy));
}
