import type { JobId } from '@holdoff/throttle-core';
import type { FieldFault } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import type { Delivery } from './attempt.ts';
import type { Stores } from './stores.ts';

const DEAD_KEPT = 10_000;
const RAW_CHARACTERS_MAX = 20_000;

/** What of the process it needs. */
export interface RefusalParts {
  readonly stores: Pick<Stores, 'gate' | 'queueRedis' | 'names'>;
  /** Promotes the jobs that the gate called. */
  readonly call: (jobs: readonly JobId[]) => void;
}

/**
 * Keeps a payload that no producer of ours wrote in the dead-letter stream, with the reason, and ends its job:
 * nothing is fetched, nothing else suffers, and its place goes to whom the gate calls.
 */
export async function refusePayload(
  delivery: Delivery,
  fault: FieldFault,
  { stores, call }: RefusalParts,
): Promise<Disposition> {
  const raw = JSON.stringify(delivery.data ?? null).slice(0, RAW_CHARACTERS_MAX);
  const entry = { job: delivery.job, reason: 'payload', ...fault, raw };
  await stores.queueRedis.xadd(
    stores.names.dead,
    'MAXLEN',
    '~',
    DEAD_KEPT,
    '*',
    ...Object.entries(entry).flat(),
  );
  const ledger = await stores.gate.inspectJob(delivery.job);
  const end = { kind: 'stopped', reason: 'poison' } as const;
  if (ledger === undefined) return { kind: 'complete', end };
  const reply = await stores.gate.finish({
    job: delivery.job,
    batch: ledger.batch,
    delivery: delivery.number,
    end,
    evidence: `payload refused: ${fault.field} ${fault.rule}`,
  });
  call(reply.call);
  if (reply.kind === 'stale') return { kind: 'abandon' };
  return { kind: 'complete', end: reply.end ?? end };
}
