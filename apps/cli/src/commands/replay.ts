import type { Command } from 'commander';
import { enterUrl, type FieldFault, queueNames, type StoppedEntry } from '@holdoff/url-job';
import type { ReadEntry } from '../enqueue/read-entries.ts';
import { sendEntries } from '../enqueue/send-entries.ts';
import {
  batchIdOf,
  instant,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { comingInstant, personName, wholeNumber } from '../operator/read-amount.ts';
import { readStopped } from '../operator/read-stopped.ts';
import { createReplayBatch, nextReplayName } from '../operator/replay-batch.ts';
import { type ReplaySelection, selectReplay } from '../operator/select-replay.ts';
import { type FilterFlags, stoppedFilterOf } from '../operator/stopped-filter.ts';
import type { RunStore } from '../run/run-store.ts';
import { TOKENS_MAX } from './batch-create.ts';

interface Flags extends OperatorFlags, FilterFlags {
  readonly deadline?: string;
  readonly into?: string;
  readonly retryTokens?: string;
  readonly owner: string;
  readonly approve: boolean;
  readonly dryRun: boolean;
}

const INBOX_MAX = 100_000;
const PATIENCE_MS = 60_000;

/** `holdoff replay`: enter stopped URLs again, as new work under a new batch. */
export function replayCommand(): Command {
  return operatorCommand('replay', 'enter stopped URLs again, as new work under a new batch')
    .option('--batch <name>', 'batch whose stopped URLs are entered again')
    .option('--reason <reason>', 'stopped for this reason only; blocked, robots and cancelled must be named')
    .option('--host <host>', 'of this host only')
    .option('--deadline <instant>', 'given up after: 6h, 2026-01-15T12:00:00Z, epoch; must be said')
    .option('--into <name>', 'name of the new batch; default: BATCH-replay-N')
    .option('--retry-tokens <n>', 'retry tokens of the new batch; without it the policy decides')
    .option('--owner <name>', 'who answers for the new batch', 'operator')
    .option('--approve', 'it may send at once, also where the policy asks for approval', false)
    .option('--dry-run', 'say what would be entered, and enter nothing', false)
    .addHelpText(
      'after',
      `
Examples:
  holdoff replay --batch nightly --reason deadline --deadline 6h --dry-run
  holdoff replay --batch nightly --host shop.example --deadline 6h`,
    )
    .action((flags: Flags) => withFleet('replay', flags, (store) => replay(store, flags)));
}

async function replay(store: RunStore, flags: Flags): Promise<{ json: unknown; text: string }> {
  const filter = stoppedFilterOf(flags);
  if (filter.batch === null && (flags.into === undefined || (filter.reason === null && filter.host === null)))
    throw new OperatorFault('say --batch, or --into with --reason or --host');
  const names = queueNames(flags.deployment);
  const nowMs = await store.gate.now();
  const deadlineMs = deadlineOf(flags.deadline, nowMs);
  const tokens =
    flags.retryTokens === undefined ? null : wholeNumber('--retry-tokens', flags.retryTokens, 0, TOKENS_MAX);
  const selection = await selectReplay(
    readStopped(store.redis, names.stopped, filter),
    filter.reason,
    store.gate,
  );
  const isUnknown =
    filter.batch !== null &&
    selection.entries.length === 0 &&
    (await store.gate.inspectBatch(batchIdOf(filter.batch))) === undefined;
  if (isUnknown)
    throw new OperatorFault(`the fleet knows no batch ${filter.batch}, and no stopped URL of it is kept`);
  const into =
    flags.into === undefined ? await nextReplayName(store.gate, filter.batch ?? '') : batchIdOf(flags.into);
  if (into === filter.batch)
    throw new OperatorFault('--into must be another batch: the URLs of this one have ended');
  if (flags.dryRun || selection.entries.length === 0)
    return told(selection, { into, deadlineMs, sent: 0 }, flags);

  const batch = await createReplayBatch(store, flags.deployment, {
    batch: into,
    deadlineMs,
    tokens,
    owner: personName('--owner', flags.owner),
    isApproved: flags.approve,
  });
  if (batch.kind === 'exists' && flags.into === undefined)
    throw new OperatorFault(`batch ${into} was created by somebody else just now: try again`);
  if (batch.cancelled) throw new OperatorFault(`batch ${into} was cancelled: name another one with --into`);
  // Its URLs would only stop again, as not approved.
  if (!batch.approved)
    throw new OperatorFault(
      `nothing is entered: batch ${into} needs approval. holdoff batch approve ${into}, then the same replay with --into ${into}`,
    );
  const faults: FieldFault[] = [];
  let sent = 0;
  await sendEntries(entriesOf(selection.entries, into, deadlineMs, nowMs), {
    redis: store.redis,
    inbox: names.inbox,
    inboxMax: INBOX_MAX,
    patienceMs: PATIENCE_MS,
    signal: new AbortController().signal,
    events: {
      sent: (count) => {
        sent += count;
      },
      refused: ({ fault }) => void faults.push(fault),
      waiting: () => undefined,
    },
  });
  const answer = told(selection, { into, deadlineMs, sent }, flags);
  const refused = faults[0];
  const notes =
    refused === undefined
      ? []
      : [`${faults.length} could not be entered: ${refused.field} ${refused.value} ${refused.rule}`];
  return { json: { ...answer.json, refused: faults.length }, text: [answer.text, ...notes].join('\n') };
}

/** A replay is new work: nobody's old deadline is stretched, and none is taken for granted. */
function deadlineOf(text: string | undefined, nowMs: number): number {
  if (text === undefined)
    throw new OperatorFault('a replay needs a deadline of its own: say --deadline, such as --deadline 6h');
  return comingInstant('--deadline', text, nowMs);
}

async function* entriesOf(
  entries: readonly StoppedEntry[],
  batch: string,
  deadlineMs: number,
  nowMs: number,
): AsyncGenerator<ReadEntry> {
  for (const { url, method, priority, headersRef, job, reads } of entries) {
    const headers = { ...(headersRef === null ? {} : { headersRef }), reads };
    const entered = enterUrl({ url, batch, method, priority, deadlineMs, ...headers }, nowMs);
    if (entered.kind === 'invalid') yield { kind: 'refused', place: job, fault: entered.fault };
    else {
      const fields = ['url', url, 'batch', batch, 'method', method, 'priority', String(priority)];
      fields.push('deadline', String(deadlineMs), ...(headersRef === null ? [] : ['headers', headersRef]));
      if (reads !== undefined) fields.push('reads', reads);
      yield { kind: 'entry', fields };
    }
  }
}

function told(
  selection: ReplaySelection,
  done: { readonly into: string; readonly deadlineMs: number; readonly sent: number },
  flags: Flags,
): { readonly json: Readonly<Record<string, unknown>>; readonly text: string } {
  const reasons: Record<string, number> = {};
  for (const { reason } of selection.entries) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const count = selection.entries.length;
  const counts = Object.entries(reasons).map(([reason, number]) => `${reason} ${number}`);
  const deadline = instant(done.deadlineMs);
  const lines: string[] = [];
  if (count === 0) lines.push('nothing to replay');
  else if (flags.dryRun)
    lines.push(`would enter ${count} as batch ${done.into}, deadline ${deadline} (${counts.join(', ')})`);
  else lines.push(`${done.sent} entered as batch ${done.into}, deadline ${deadline} (${counts.join(', ')})`);
  for (const [reason, number] of Object.entries(selection.named))
    lines.push(`left out: ${number} stopped as ${reason}; --reason ${reason} enters them`);
  if (selection.changed > 0) lines.push(`left out: ${selection.changed} that did not end as stopped`);
  return {
    json: {
      batch: count === 0 ? null : done.into,
      deadline,
      selected: count,
      sent: done.sent,
      reasons,
      leftOut: selection.named,
      changed: selection.changed,
      dryRun: flags.dryRun,
    },
    text: lines.join('\n'),
  };
}
