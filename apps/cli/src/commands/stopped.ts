import type { Command } from 'commander';
import pc from 'picocolors';
import { redactText } from '@holdoff/service-runtime';
import { queueNames, type StoppedEntry } from '@holdoff/url-job';
import {
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { printable } from '../operator/printable.ts';
import { readStopped } from '../operator/read-stopped.ts';
import { type FilterFlags, stoppedFilterOf } from '../operator/stopped-filter.ts';

interface Flags extends OperatorFlags, FilterFlags {
  readonly limit: string;
}

const LIMIT_MOST = 100_000;

/** `holdoff stopped`: browse what ended without a useful result. */
export function stoppedCommand(): Command {
  return operatorCommand('stopped', 'list the URLs that ended without a useful result, newest first')
    .option('--batch <name>', 'of this batch only')
    .option('--reason <reason>', 'stopped for this reason only')
    .option('--host <host>', 'of this host only')
    .option('--limit <n>', 'list at most this many; all of them are counted', '20')
    .addHelpText(
      'after',
      `
Examples:
  holdoff stopped --batch nightly --reason deadline
  holdoff stopped --host shop.example --limit 500 --json`,
    )
    .action((flags: Flags) =>
      withFleet('stopped', flags, async ({ redis }) => {
        const limit = limitOf(flags.limit);
        const filter = stoppedFilterOf(flags);
        const reasons = new Map<string, number>();
        const entries: StoppedEntry[] = [];
        let total = 0;
        for await (const entry of readStopped(redis, queueNames(flags.deployment).stopped, filter)) {
          total += 1;
          reasons.set(entry.reason, (reasons.get(entry.reason) ?? 0) + 1);
          if (entries.length < limit) entries.push(entry);
        }
        return {
          json: { total, reasons: Object.fromEntries(reasons), entries },
          text: describe(entries, total, reasons),
        };
      }),
    );
}

function describe(
  entries: readonly StoppedEntry[],
  total: number,
  reasons: ReadonlyMap<string, number>,
): string {
  if (total === 0) return 'no stopped URL matches';
  const counts = [...reasons]
    .toSorted(([, a], [, b]) => b - a)
    .map(([reason, count]) => `${reason} ${count}`);
  const lines = entries.map(
    ({ at, reason, status, batch, url, detail }) =>
      `${pc.dim(at.replace(/\.\d+Z$/, 'Z'))}  ${pc.yellow(reason)}  ${status === 0 ? '-' : status}  ${printable(batch)}  ${printable(redactText(url))}\n    ${pc.dim(printable(redactText(detail)))}`,
  );
  const more = total > entries.length ? `\n${total - entries.length} more; --limit lists them` : '';
  return `${total} stopped: ${counts.join(', ')}\n${lines.join('\n')}${more}`;
}

function limitOf(text: string): number {
  if (/^\d{1,6}$/.test(text) && Number(text) <= LIMIT_MOST) return Number(text);
  throw new OperatorFault(
    `--limit must be a whole number from 0 to ${LIMIT_MOST}, not ${JSON.stringify(text)}`,
  );
}
