import type { BatchId } from '@holdoff/throttle-core';
import type { FieldFault } from '@holdoff/url-job';
import type { Disposition } from './apply-decision.ts';
import type { Delivery } from './attempt.ts';
import type { Stores } from './stores.ts';

const DEAD_KEPT = 10_000;
const RAW_CHARACTERS_MAX = 20_000;

/**
 * Keeps a payload that no producer of ours wrote in the dead-letter stream, with the reason, and ends its job:
 * nothing is fetched, nothing else suffers.
 */
export async function refusePayload(
  delivery: Delivery,
  fault: FieldFault,
  stores: Stores,
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
  const batch: BatchId | undefined = ledger?.batch;
  if (batch !== undefined) {
    await stores.gate.finish({
      job: delivery.job,
      batch,
      delivery: delivery.number,
      end,
      evidence: `payload refused: ${fault.field} ${fault.rule}`,
    });
  }
  return { kind: 'complete', end };
}
