import type { Figure } from './bench.ts';
import { isMet } from './bench.ts';
import type { KeptResult } from './results.ts';
import { markdownTable, showCell } from './table.ts';

/** docs/benchmarks.md: every kept result, its figures against their targets, and where it was measured. */
export function benchmarkReport(results: readonly KeptResult[]): string {
  const figures = results.flatMap(({ bench, figures }) => figures.map((figure) => ({ bench, figure })));
  const parts = [
    '# Benchmarks',
    'Made by `pnpm bench --report` from the latest run of each bench; `pnpm bench --list` names them, `pnpm bench NAME` runs one. ' +
      'Judged from the log of the sample origin, never from our own counters. Baselines ran on the same machine in the same run; ' +
      'compare figures within one bench, not across machines.',
    '## Figures against their targets',
    markdownTable(
      ['bench', 'figure', 'measured', 'target', 'met'],
      figures.map(({ bench, figure }) => [bench, figure.name, measured(figure), target(figure), met(figure)]),
    ),
    ...results.map(section),
  ];
  return `${parts.join('\n\n')}\n`;
}

function section(result: KeptResult): string {
  const notes = (result.notes ?? []).map((note) => `- ${note}`);
  return [
    `## ${result.bench}`,
    result.about,
    markdownTable(result.columns, result.rows),
    ...(notes.length === 0 ? [] : [notes.join('\n')]),
    `Measured ${result.at.slice(0, 10)} at commit ${result.commit} on ${result.machine}, Node ${result.node}, in ${Math.round(result.seconds)} s.${busy(result)}`,
  ].join('\n\n');
}

/** Other work makes rates and times worse by an unknown factor; counts stay what they are. */
const BUSY_FROM = 0.5;

function busy({ loadBefore }: KeptResult): string {
  if (loadBefore < BUSY_FROM) return '';
  return ` **The machine was busy with other work** (${showCell(loadBefore)} waiting processes per CPU before the start): rates and times are worse than they would be alone.`;
}

export function measured({ value, unit }: Figure): string {
  return value === null ? '–' : `${showCell(value)} ${unit}`.trim();
}

export function target({ target, unit }: Figure): string {
  if (target === undefined) return '–';
  return 'atMost' in target ? `≤ ${target.atMost} ${unit}`.trim() : `≥ ${target.atLeast} ${unit}`.trim();
}

export function met(figure: Figure): string {
  const answer = isMet(figure);
  if (answer === null) return figure.target === undefined ? '–' : 'not measured';
  return answer ? 'yes' : '**no**';
}
