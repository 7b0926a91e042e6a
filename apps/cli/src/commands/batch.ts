import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { BatchDefaults, BatchId, BatchSnapshot, Gate } from '@holdoff/throttle-core';
import { parseInstant } from '@holdoff/url-job';
import { type BatchReport, describeBatch, reportOf } from '../operator/describe-batch.ts';
import {
  batchIdOf,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { batchPlanCommand } from './batch-plan.ts';
import { plainTable } from '../run/run-summary.ts';

interface CreateFlags extends OperatorFlags {
  readonly retryTokens?: string;
  readonly deadline?: string;
  readonly owner: string;
  readonly approve: boolean;
  readonly maxBytes?: string;
  readonly maxRequests?: string;
}

interface ByFlags extends OperatorFlags {
  readonly by: string;
}

const TOKENS_MAX = 1_000_000_000;

/** `holdoff batch`: create, approve, cancel, top up, report. */
export function batchCommand(): Command {
  return new Command('batch')
    .summary('plan, create, approve, cancel, top up and report batches')
    .description('Batches share retry tokens, a deadline, an owner and an approval.')
    .addCommand(createCommand())
    .addCommand(batchPlanCommand())
    .addCommand(
      changeCommand('approve', 'let a batch send', (gate, batch, by) => gate.approveBatch(batch, by)),
    )
    .addCommand(
      changeCommand('cancel', 'end a batch: what is not sent yet ends as cancelled', (gate, batch, by) =>
        gate.cancelBatch(batch, by),
      ),
    )
    .addCommand(
      operatorCommand('top-up', 'give a batch more retry tokens')
        .argument('<batch>')
        .argument('<tokens>', 'tokens to add')
        .action((name: string, tokens: string, flags: OperatorFlags) =>
          about('top-up', flags, name, (gate, batch) =>
            gate.topUpBatch(batch, whole('tokens', tokens, TOKENS_MAX), randomUUID()),
          ),
        ),
    )
    .addCommand(
      operatorCommand('report', 'print the figures of a batch, or compare them with an earlier report')
        .argument('<batch>')
        .option('--compare <file>', 'a report of --json kept earlier')
        .action((name: string, flags: OperatorFlags & { readonly compare?: string }) =>
          withFleet('batch report', flags, async ({ gate }) => {
            const snapshot = await known(gate, batchIdOf(name));
            if (flags.compare === undefined)
              return { json: reportOf(snapshot), text: describeBatch(snapshot) };
            return compare(await readReport(flags.compare), reportOf(snapshot));
          }),
        ),
    );
}

function createCommand(): Command {
  return operatorCommand('create', 'create a batch before its first URL')
    .argument('<batch>')
    .option('--retry-tokens <n>', 'retry tokens, never refilled; default: a fifth of its URLs, at least 10')
    .option('--deadline <instant>', 'given up after: 6h, 2026-01-15T12:00:00Z, epoch')
    .option('--owner <name>', 'who answers for it', 'operator')
    .option('--approve', 'it may send at once', false)
    .option('--max-bytes <size>', 'stop when this much was received: 500MB, 2GB')
    .option('--max-requests <n>', 'stop after this many requests')
    .action((name: string, flags: CreateFlags) =>
      withFleet('batch create', flags, async ({ gate }) => {
        const defaults = await defaultsOf(gate, flags);
        const { kind, batch } = await gate.createBatch({ batch: batchIdOf(name), defaults });
        if (kind === 'exists') throw new OperatorFault(`batch ${name} exists already`);
        return { json: reportOf(batch), text: describeBatch(batch) };
      }),
    );
}

async function defaultsOf(gate: Gate, flags: CreateFlags): Promise<BatchDefaults> {
  const tokens =
    flags.retryTokens === undefined
      ? ({ kind: 'share', share: 0.2, least: 10 } as const)
      : ({ kind: 'fixed', total: whole('--retry-tokens', flags.retryTokens, TOKENS_MAX) } as const);
  return {
    tokens,
    approved: flags.approve,
    owner: flags.owner,
    deadlineMs: flags.deadline === undefined ? 0 : instantOf(flags.deadline, await gate.now()),
    spend: {
      bytesMax: flags.maxBytes === undefined ? 0 : bytesOf(flags.maxBytes),
      requestsMax:
        flags.maxRequests === undefined
          ? 0
          : whole('--max-requests', flags.maxRequests, Number.MAX_SAFE_INTEGER),
      costMicrosMax: 0,
    },
  };
}

function changeCommand(
  name: string,
  summary: string,
  change: (gate: Gate, batch: BatchId, by: string) => Promise<BatchSnapshot>,
): Command {
  return operatorCommand(name, summary)
    .argument('<batch>')
    .option('--by <name>', 'who decided', 'operator')
    .action((batch: string, flags: ByFlags) =>
      about(name, flags, batch, (gate, id) => change(gate, id, flags.by)),
    );
}

function about(
  name: string,
  flags: OperatorFlags,
  batch: string,
  work: (gate: Gate, batch: BatchId) => Promise<BatchSnapshot>,
): Promise<void> {
  return withFleet(`batch ${name}`, flags, async ({ gate }) => {
    const id = batchIdOf(batch);
    await known(gate, id);
    const snapshot = await work(gate, id);
    return { json: reportOf(snapshot), text: describeBatch(snapshot) };
  });
}

async function known(gate: Gate, batch: BatchId): Promise<BatchSnapshot> {
  const snapshot = await gate.inspectBatch(batch);
  if (snapshot === undefined) throw new OperatorFault(`the fleet knows no batch ${batch}`);
  return snapshot;
}

async function readReport(path: string): Promise<BatchReport> {
  try {
    const report: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (typeof report === 'object' && report !== null && 'jobs' in report && 'useful' in report)
      return report as BatchReport;
  } catch {
    // Told below in one line, whatever was wrong with the file.
  }
  throw new OperatorFault(`${path} is no report of holdoff batch report --json`);
}

/** The numbers of two reports side by side, by the same definitions. */
function compare(before: BatchReport, after: BatchReport): { json: unknown; text: string } {
  const table = plainTable(['figure', before.batch, after.batch, 'change']);
  const changes: Record<string, { before: number; after: number }> = {};
  for (const [name, value] of Object.entries(after)) {
    const earlier = before[name as keyof BatchReport];
    if (typeof value !== 'number' || typeof earlier !== 'number') continue;
    changes[name] = { before: earlier, after: value };
    const change = value - earlier;
    table.push([name, String(earlier), String(value), change > 0 ? `+${change}` : String(change)]);
  }
  return { json: { before: before.batch, after: after.batch, changes }, text: table.toString() };
}

function whole(name: string, text: string, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number <= most) return number;
  throw new OperatorFault(`${name} must be a whole number from 0 to ${most}, not ${JSON.stringify(text)}`);
}

function instantOf(text: string, nowMs: number): number {
  const parsed = parseInstant('deadline', text, nowMs);
  if (parsed.kind === 'invalid')
    throw new OperatorFault(`--deadline ${JSON.stringify(text)} ${parsed.fault.rule}`);
  return parsed.value;
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: 1024 ** 3,
};

function bytesOf(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([KMGT]?I?B)$/i.exec(text);
  const unit = UNITS[match?.[2]?.toUpperCase() ?? ''];
  if (match === null || unit === undefined)
    throw new OperatorFault(`--max-bytes must be a size such as 500MB or 2GiB, not ${JSON.stringify(text)}`);
  return Math.ceil(Number(match[1]) * unit);
}
