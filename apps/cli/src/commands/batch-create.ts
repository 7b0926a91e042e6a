import type { Command } from 'commander';
import { describeBatch, reportOf } from '../operator/describe-batch.ts';
import { fleetBatchDefaults } from '../operator/fleet-batch-defaults.ts';
import {
  batchIdOf,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { byteCount, comingInstant, personName, wholeNumber } from '../operator/read-amount.ts';
import type { RunStore } from '../run/run-store.ts';

interface Flags extends OperatorFlags {
  readonly retryTokens?: string;
  readonly deadline?: string;
  readonly owner: string;
  readonly approve: boolean;
  readonly maxBytes?: string;
  readonly maxRequests?: string;
}

export const TOKENS_MAX = 1_000_000_000;

/** `holdoff batch create`: a batch with limits of its own, before its first URL would make it by the policy. */
export function batchCreateCommand(): Command {
  return operatorCommand('create', 'create a batch before its first URL; what is not said, the policy says')
    .argument('<batch>')
    .option('--retry-tokens <n>', "retry tokens, never refilled; default: the policy's")
    .option('--deadline <instant>', 'given up after: 6h, 2026-01-15T12:00:00Z, epoch')
    .option('--owner <name>', 'who answers for it', 'operator')
    .option('--approve', 'it may send at once, also where the policy asks for approval', false)
    .option('--max-bytes <size>', "stop when this much was received: 500MB, 2GB; default: the policy's")
    .option('--max-requests <n>', "stop after this many requests; default: the policy's")
    .addHelpText(
      'after',
      `
Examples:
  holdoff batch create nightly --retry-tokens 200 --deadline 6h --owner data-team --approve --max-bytes 2GB
  holdoff batch create nightly                  # tokens, approval and limits by the policy`,
    )
    .action((name: string, flags: Flags) =>
      withFleet('batch create', flags, (store) => create(store, name, flags)),
    );
}

async function create(
  store: RunStore,
  name: string,
  flags: Flags,
): Promise<{ readonly json: unknown; readonly text: string }> {
  const id = batchIdOf(name);
  const { retryTokens, deadline, maxBytes, maxRequests } = flags;
  const spend = {
    ...(maxBytes === undefined ? {} : { bytesMax: byteCount('--max-bytes', maxBytes) }),
    ...(maxRequests === undefined
      ? {}
      : { requestsMax: wholeNumber('--max-requests', maxRequests, 1, Number.MAX_SAFE_INTEGER) }),
  };
  const said = {
    tokens: retryTokens === undefined ? null : wholeNumber('--retry-tokens', retryTokens, 0, TOKENS_MAX),
    approved: flags.approve ? true : null,
    owner: personName('--owner', flags.owner),
    deadlineMs: deadline === undefined ? null : comingInstant('--deadline', deadline, await store.gate.now()),
    spend,
  };
  const defaults = await fleetBatchDefaults(store, flags.deployment, said);
  const { kind, batch } = await store.gate.createBatch({ batch: id, defaults });
  if (kind === 'exists')
    throw new OperatorFault(`batch ${name} exists already: holdoff batch report ${name} shows it`);
  const next = batch.approved
    ? `holdoff enqueue urls.txt --batch ${name} gives it work`
    : `it sends nothing yet: holdoff batch approve ${name} lets it; URLs that come before that stop as not_approved`;
  return { json: { ...reportOf(batch), next }, text: `${describeBatch(batch)}\n\n${next}` };
}
