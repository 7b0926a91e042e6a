import Table from 'cli-table3';
import pc from 'picocolors';
import type { BatchSnapshot } from '@holdoff/throttle-core';

/** What a run came to; also the last line of `--json`. */
export interface RunSummary {
  readonly batch: string;
  /** Distinct URLs of the list, those that were refused included. */
  readonly urls: number;
  readonly done: number;
  readonly stopped: Readonly<Record<string, number>>;
  readonly waiting: number;
  readonly attempts: number;
  readonly requests: number;
  readonly throttled: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly results: string;
}

export function summarize(
  batch: BatchSnapshot | undefined,
  facts: {
    readonly name: string;
    readonly urls: number;
    readonly refused: number;
    readonly seconds: number;
    readonly results: string;
  },
): RunSummary {
  const stopped: Record<string, number> = { ...batch?.stoppedBy };
  if (facts.refused > 0) stopped['invalid_url'] = (stopped['invalid_url'] ?? 0) + facts.refused;
  const ended = (batch?.jobs.done ?? 0) + (batch?.jobs.stopped ?? 0);
  return {
    batch: facts.name,
    urls: facts.urls + facts.refused,
    done: batch?.jobs.done ?? 0,
    stopped,
    waiting: Math.max(0, facts.urls - ended),
    attempts: batch?.attempts ?? 0,
    requests: batch?.requests ?? 0,
    throttled: batch?.throttled ?? 0,
    bytes: batch?.bytes ?? 0,
    seconds: Math.round(facts.seconds * 10) / 10,
    results: facts.results,
  };
}

/** `kept` false: the results are thrown away with the run. */
export function printSummary(summary: RunSummary, kept = true): string {
  const table = plainTable();
  const stopped = Object.entries(summary.stopped);
  const stops = stopped.reduce((sum, [, count]) => sum + count, 0);
  table.push(['URLs', String(summary.urls), '']);
  table.push([pc.green('done'), String(summary.done), '']);
  if (stops > 0)
    table.push([
      pc.yellow('stopped'),
      String(stops),
      stopped.map(([reason, count]) => `${reason} ${count}`).join(', '),
    ]);
  if (summary.waiting > 0)
    table.push([pc.cyan('waiting'), String(summary.waiting), 'the same command goes on with them']);
  table.push(['attempts', String(summary.attempts), '']);
  table.push(['requests', String(summary.requests), `${summary.throttled} answered 429`]);
  table.push(['time', `${summary.seconds} s`, '']);
  if (!kept) return table.toString();
  return [table.toString(), ...whereabouts(summary)].join('\n');
}

/** Where the results lie, and what to look at when URLs were stopped. */
function whereabouts(summary: RunSummary): string[] {
  const lines = [`${pc.dim('results')}  ${summary.results}/results.jsonl`];
  const reasons = Object.keys(summary.stopped);
  if (reasons.length > 0)
    lines.push(
      `${pc.dim('reasons')}  holdoff stopped lists them by URL, docs/stop-reasons.md says what to do about each`,
    );
  if (reasons.includes('address_not_allowed')) {
    lines.push(
      '',
      'address_not_allowed: the address is not public, or the port is neither 80 nor 443. If the host is yours,',
      'allow its network with --allow-network, such as 127.0.0.0/8, or its port with allow_ports in a policy file.',
    );
  }
  return lines;
}

/** Columns without lines: it reads well in any terminal and in a pipe. */
export function plainTable(head?: string[]): InstanceType<typeof Table> {
  const none = Object.fromEntries(BORDERS.map((name) => [name, '']));
  return new Table({
    chars: { ...none, middle: '  ' },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    ...(head === undefined ? {} : { head: head.map((title) => pc.dim(title)) }),
    colAligns: [
      'left',
      'right',
      ...(head === undefined ? (['left'] as const) : head.slice(2).map(() => 'right' as const)),
    ],
  });
}

const BORDERS = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
] as const;
