import { type Parsed, invalid, ok } from './field-fault.ts';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^\+?(?:\d{1,9}(?:ms|s|m|h|d)){1,5}$/;
const DURATION_PART = /(\d+)(ms|s|m|h|d)/g;
const EPOCH = /^\d{1,15}$/;
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:[Zz]|([+-])(\d\d):?(\d\d))$/;
/** A number below it counts seconds (until the year 5138), from it on milliseconds (since 1973). */
const EPOCH_MS_FROM = 100_000_000_000;

const RULE =
  'must be an ISO 8601 instant with zone (2026-01-15T12:00:00Z), an epoch in seconds or milliseconds, or a duration from now (+5m, 1h30m)';

/**
 * An instant in ms since the epoch. Numbers are never durations, and nothing is left to the lenient date
 * parser, which reads bare numbers as years and zone-less text in the machine's zone.
 *
 * @param baseMs where durations count from
 */
export function parseInstant(field: string, text: string, baseMs: number): Parsed<number> {
  if (EPOCH.test(text)) {
    const number = Number(text);
    return ok(number < EPOCH_MS_FROM ? number * 1_000 : number);
  }
  if (DURATION.test(text)) return ok(baseMs + durationMs(text));
  const iso = ISO.exec(text);
  const instant = iso === null ? undefined : isoMs(iso);
  return instant === undefined ? invalid(field, text, RULE) : ok(instant);
}

function durationMs(text: string): number {
  let totalMs = 0;
  for (const [, count, unit] of text.matchAll(DURATION_PART)) {
    totalMs += Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  }
  return totalMs;
}

/** undefined: no such day or time. */
function isoMs(match: RegExpExecArray): number | undefined {
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const milliseconds = Math.ceil(Number(`0.${match[7] ?? '0'}`) * 1_000);
  const utc = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(utc);
  const exists =
    year >= 1970 &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 59 &&
    date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day;
  if (!exists || part(9) > 14 || part(10) > 59) return undefined;
  const offsetMs = (part(9) * 60 + part(10)) * 60_000;
  return utc + milliseconds - (match[8] === '-' ? -offsetMs : offsetMs);
}
