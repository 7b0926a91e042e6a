import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import type { BatchId, BatchSnapshot, Gate } from '@holdoff/throttle-core';
import { isBatchName } from '@holdoff/url-job';
import { type BatchReport, describeBatch, reportOf } from '../operator/describe-batch.ts';
import {
  batchIdOf,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { personName, wholeNumber } from '../operator/read-amount.ts';
import { batchCreateCommand, TOKENS_MAX } from './batch-create.ts';
import { batchPlanCommand } from './batch-plan.ts';
import { plainTable } from '../run/run-summary.ts';

interface ByFlags extends OperatorFlags {
  readonly by: string;
}

/** `holdoff batch`: create, approve, cancel, top up, report. */
export function batchCommand(): Command {
  return new Command('batch')
    .summary('plan, create, approve, cancel, top up and report batches')
    .description('Batches share retry tokens, a deadline, an owner and an approval.')
    .addCommand(batchCreateCommand())
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
        .addHelpText('after', '\nExample:\n  holdoff batch top-up nightly 50')
        .action((name: string, tokens: string, flags: OperatorFlags) =>
          about('top-up', flags, name, (gate, batch) =>
            gate.topUpBatch(batch, wholeNumber('tokens', tokens, 1, TOKENS_MAX), randomUUID()),
          ),
        ),
    )
    .addCommand(
      operatorCommand('report', 'print the figures of a batch, or compare them with an earlier report')
        .argument('<batch>')
        .option('--compare <report>', 'another batch, or a file with a report of --json kept earlier')
        .addHelpText(
          'after',
          `
Examples:
  holdoff batch report nightly --json > monday.json
  holdoff batch report nightly --compare monday.json
  holdoff batch report nightly-20260116T0130 --compare nightly-20260115T0130`,
        )
        .action((name: string, flags: OperatorFlags & { readonly compare?: string }) =>
          withFleet('batch report', flags, async ({ gate }) => {
            const snapshot = await known(gate, batchIdOf(name));
            if (flags.compare === undefined)
              return { json: reportOf(snapshot), text: describeBatch(snapshot) };
            return compare(await earlierReport(gate, flags.compare), reportOf(snapshot));
          }),
        ),
    );
}

function changeCommand(
  name: string,
  summary: string,
  change: (gate: Gate, batch: BatchId, by: string) => Promise<BatchSnapshot>,
): Command {
  return operatorCommand(name, summary)
    .argument('<batch>')
    .option('--by <name>', 'who decided', 'operator')
    .addHelpText('after', `\nExample:\n  holdoff batch ${name} nightly --by ann`)
    .action((batch: string, flags: ByFlags) =>
      about(name, flags, batch, (gate, id) => change(gate, id, personName('--by', flags.by))),
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

/** A file of that name, else the batch of that name. */
async function earlierReport(gate: Gate, name: string): Promise<BatchReport> {
  const text = await readFile(name, 'utf8').catch(() => null);
  if (text === null) {
    const batch = isBatchName(name) ? await gate.inspectBatch(name as BatchId) : undefined;
    if (batch !== undefined) return reportOf(batch);
    throw new OperatorFault(`--compare ${JSON.stringify(name)} is neither a file nor a batch of the fleet`);
  }
  const report = parsed(text);
  if (
    typeof report === 'object' &&
    report !== null &&
    'jobs' in report &&
    'useful' in report &&
    'stopReasons' in report
  )
    return report as BatchReport;
  throw new OperatorFault(`--compare ${JSON.stringify(name)} is no report of holdoff batch report --json`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** All numbers of a report, stop reasons that either of the two has included. null: not known yet. */
function figuresOf(report: BatchReport, other: BatchReport): ReadonlyMap<string, number | null> {
  const figures = new Map<string, number | null>();
  for (const [name, value] of Object.entries({ ...report, costMicrosPerUseful: report.costMicrosPerUseful }))
    if (typeof value === 'number' || name === 'costMicrosPerUseful')
      figures.set(name, typeof value === 'number' ? value : null);
  const reasons = new Set([...Object.keys(report.stopReasons), ...Object.keys(other.stopReasons)]);
  for (const reason of [...reasons].toSorted())
    figures.set(`stopped by ${reason}`, report.stopReasons[reason] ?? 0);
  return figures;
}

function shown(figure: number | null): string {
  return figure === null ? '-' : figure.toLocaleString('en-US');
}

/** The numbers of two reports side by side, by the same definitions. */
function compare(before: BatchReport, after: BatchReport): { json: unknown; text: string } {
  const table = plainTable(['figure', before.batch, after.batch, 'change']);
  const changes: Record<string, { before: number | null; after: number | null }> = {};
  for (const [name, value] of figuresOf(after, before)) {
    const earlier = figuresOf(before, after).get(name) ?? null;
    changes[name] = { before: earlier, after: value };
    const change = value === null || earlier === null ? null : value - earlier;
    table.push([
      name,
      shown(earlier),
      shown(value),
      `${change !== null && change > 0 ? '+' : ''}${shown(change)}`,
    ]);
  }
  return { json: { before: before.batch, after: after.batch, changes }, text: table.toString() };
}
