import type { BatchId, BatchSnapshot, JobId, JobSnapshot } from '@holdoff/throttle-core';
import { queueNames } from '@holdoff/url-job';
import type { Fleet } from '../story/fleet.ts';

const STATES = ['active', 'wait', 'prioritized', 'delayed', 'paused'] as const;

/** What is left in the queue and of the hosts' leases. */
async function leftOver(fleet: Fleet, hosts: readonly string[]): Promise<readonly string[]> {
  const names = queueNames();
  const found: string[] = [];
  for (const state of STATES) {
    const key = `${names.prefix}:${names.queue}:${state}`;
    const kind = await fleet.client.type(key);
    const size =
      kind === 'list' ? await fleet.client.llen(key) : kind === 'zset' ? await fleet.client.zcard(key) : 0;
    if (size > 0) found.push(`${size} jobs are ${state}`);
  }
  for (const name of hosts) {
    const host = await fleet.gate.inspectHost(fleet.hostKey(name));
    if (host === undefined) continue;
    if (host.leases.length > 0) found.push(`${name} has ${host.leases.length} leases`);
    if (host.waiting > 0) found.push(`${name} has ${host.waiting} waiting jobs`);
  }
  return found;
}

export interface QuietEnd {
  readonly ids: readonly string[];
  readonly batch: BatchSnapshot;
  readonly jobs: readonly JobSnapshot[];
}

/** Waits until all URLs have ended and nothing of them is left in flight: queue empty, leases gone. */
export async function quietEnd(
  fleet: Fleet,
  name: string,
  urls: readonly string[],
  hosts: readonly string[],
  withinMs = 90_000,
): Promise<QuietEnd> {
  await fleet.ended(name, urls.length, withinMs);
  let left: readonly string[] = [];
  await fleet
    .until(
      'nothing is left',
      async () => {
        left = await leftOver(fleet, hosts);
        return left.length === 0 ? true : undefined;
      },
      30_000,
    )
    .catch((error: unknown) => {
      throw new Error(left.join('; '), { cause: error });
    });
  const ids = urls.map((url) => fleet.jobId(name, url));
  const known = await Promise.all(ids.map((id) => fleet.gate.inspectJob(id as JobId)));
  const batch = await fleet.gate.inspectBatch(name as BatchId);
  if (batch === undefined) throw new Error(`the gate has no batch ${name}`);
  return { ids, batch, jobs: known.filter((job) => job !== undefined) };
}
