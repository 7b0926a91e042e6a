import type { Cell } from './bench.ts';

/** Numbers as people read them: three digits that count, thousands apart. */
export function showCell(cell: Cell): string {
  if (cell === null) return '–';
  if (typeof cell === 'string') return cell;
  if (!Number.isFinite(cell)) return '–';
  if (Number.isInteger(cell) || Math.abs(cell) >= 100) return Math.round(cell).toLocaleString('en-US');
  return String(Number(cell.toPrecision(3)));
}

/** A Markdown table, padded so that it reads well in a terminal too. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(showCell));
  const widths = columns.map((column, at) =>
    Math.max(3, column.length, ...cells.map((row) => row[at]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, at) => (at === 0 ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(columns), line(rule), ...cells.map(line)].join('\n');
}
