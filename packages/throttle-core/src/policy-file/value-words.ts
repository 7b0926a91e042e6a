/** Durations, sizes and rates as people write them. A number without its unit is refused: that is how waits get 1000 times too short. */

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

const SIZE_UNITS = [
  ['TiB', 1024 ** 4],
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['B', 1],
] as const;

const RATE_UNITS = [
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
] as const;

export const DURATION_PATTERN = '^[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)$';
export const SIZE_PATTERN = '^[0-9]+(\\.[0-9]+)?(B|KiB|MiB|GiB|TiB)$';
export const RATE_PATTERN = '^[0-9]+(\\.[0-9]+)?/(s|m|h|d)$';

/** `250ms`, `30s`, `1.5m`, `6h`, `7d` in milliseconds; undefined: not a duration, or not a whole millisecond. */
export function readDurationMs(text: string): number | undefined {
  return whole(readWith(text, DURATION_PATTERN, DURATION_UNITS));
}

/** `512B`, `64KiB`, `10MiB`, `1.5GiB` in bytes; undefined: not a size, or not a whole byte. */
export function readSizeBytes(text: string): number | undefined {
  return whole(readWith(text, SIZE_PATTERN, SIZE_UNITS));
}

/** `2/s`, `30/m`, `100/h`, `500/d` as a rate per second; undefined: not a rate. */
export function readRatePerSecond(text: string): number | undefined {
  if (!new RegExp(RATE_PATTERN).test(text)) return undefined;
  const [count, unit] = text.split('/');
  const seconds = RATE_UNITS.find(([name]) => name === unit)?.[1];
  return seconds === undefined ? undefined : Number(count) / seconds;
}

/** The shortest exact spelling; a day is written as 24h, as people do, and more as days where they are whole. */
export function printDuration(durationMs: number): string {
  if (durationMs === 86_400_000) return '24h';
  return printWith(durationMs, DURATION_UNITS, 's');
}

export function printSize(bytes: number): string {
  return printWith(bytes, SIZE_UNITS, 'B');
}

/** A rate in the largest unit that keeps it readable: 2/s, 6/m. */
export function printRate(perSecond: number): string {
  for (const [unit, seconds] of RATE_UNITS) {
    const count = rounded(perSecond * seconds);
    if (Number.isInteger(count) && count > 0) return `${count}/${unit}`;
  }
  return `${rounded(perSecond)}/s`;
}

function readWith(
  text: string,
  pattern: string,
  units: readonly (readonly [string, number])[],
): number | undefined {
  if (!new RegExp(pattern).test(text)) return undefined;
  const unit = text.replace(/^[0-9.]+/, '');
  const factor = units.find(([name]) => name === unit)?.[1];
  return factor === undefined ? undefined : rounded(Number(text.slice(0, -unit.length)) * factor);
}

/** Takes the noise of binary fractions away: 1.1 x 1000 is 1100.0000000000002. */
function rounded(value: number): number {
  return Number(value.toPrecision(15));
}

function whole(value: number | undefined): number | undefined {
  return value !== undefined && Number.isSafeInteger(value) ? value : undefined;
}

function printWith(value: number, units: readonly (readonly [string, number])[], zero: string): string {
  if (value === 0) return `0${zero}`;
  const [unit, factor] = units.find(([, size]) => value % size === 0) ?? [zero, 1];
  return `${value / factor}${unit}`;
}
