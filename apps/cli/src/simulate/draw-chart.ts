import type { Timeline } from '@holdoff/throttle-core/simulate';
import { plot } from 'asciichart';
import type picocolors from 'picocolors';

const COLUMNS = 72;
const HEIGHT = 10;
const MARKS = ' .:*#';

/** Pages served per second over time as a line, and below it where the 429s and failures fell. */
export function drawChart(timeline: Timeline, colors: ReturnType<typeof picocolors.createColors>): string {
  const slices = timeline.served.length;
  if (slices < 2) return '';
  // Less than a second a column would show single requests as peaks.
  const columns = Math.min(COLUMNS, slices, Math.max(10, Math.floor((slices * timeline.sliceMs) / 1000)));
  const per = slices / columns;
  const seconds = (timeline.sliceMs * per) / 1000;
  const served = squeeze(timeline.served, columns).map((count) => count / seconds);
  const lines = plot(served, { height: HEIGHT, min: 0, format: (value) => value.toFixed(1).padStart(8) });
  const margin = ' '.repeat(10);
  return [
    colors.dim(`${margin}pages per second`),
    colors.green(lines),
    `${colors.dim('    429s  ')}${colors.yellow(marks(squeeze(timeline.throttled, columns)))}`,
    `${colors.dim('  failed  ')}${colors.red(marks(squeeze(timeline.failed, columns)))}`,
    colors.dim(`${margin}0${printSeconds(seconds * columns).padStart(columns - 1)}`),
  ].join('\n');
}

/** Fewer columns, same sums. */
function squeeze(values: readonly number[], columns: number): number[] {
  const sums = Array.from({ length: columns }, () => 0);
  for (const [slice, value] of values.entries()) {
    const column = Math.min(columns - 1, Math.floor((slice * columns) / values.length));
    sums[column] = (sums[column] ?? 0) + value;
  }
  return sums;
}

/** One character a column: none, one, a few, many, very many. */
function marks(counts: readonly number[]): string {
  return counts.map((count) => MARKS[level(count)]).join('');
}

function level(count: number): number {
  return count === 0 ? 0 : Math.min(MARKS.length - 1, 1 + Math.floor(Math.log10(count) * 2));
}

export function printSeconds(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7_200) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}
