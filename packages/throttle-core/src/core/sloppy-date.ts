import { type CivilTime, epochMsOf, fullYear, isPossible } from './http-date.ts';

export type SloppyDateFault =
  | 'not_a_date'
  | 'impossible_date'
  /** A zone abbreviation whose offset is not certain, such as CEST or IST. */
  | 'unknown_zone'
  /** An ISO 8601 time without its zone is the server's local time, which nobody but the server knows. */
  | 'no_zone';

export type SloppyDateReading =
  | { readonly kind: 'date'; readonly epochMs: number; readonly form: 'iso_8601' | 'sloppy_date' }
  | { readonly kind: 'malformed'; readonly fault: SloppyDateFault };

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];

const MONTH = '(?<month>[a-z]{3,9})';
const DAY = '(?<day>[0-9]{1,2})';
const YEAR = '(?<year>[0-9]{4}|[0-9]{2})';
const TIME = '(?<hour>[0-9]{1,2}):(?<minute>[0-9]{2})(?::(?<second>[0-9]{2})(?:\\.(?<fraction>[0-9]+))?)?';
const WEEKDAY = '(?:(?:sun|mon|tue|wed|thu|fri|sat)[a-z]{0,6}\\.?,? +)?';
/** A zone, then what programs add for people: `(Central European Summer Time)`, or Go's abbreviation. */
const ZONE = '(?<zone>[a-z]{1,5}|(?:gmt|utc|ut)?[+-][0-9]{2}(?::?[0-9]{2})?)(?: [a-z]{2,5}| ?\\([^()]*\\))?';

const SHAPES: readonly RegExp[] = [
  // Mon, 15 Jun 2026 12:00:30 GMT · 15-Jun-26 12:00 +0200 · Mon 15 June 2026 8:49:37
  new RegExp(`^${WEEKDAY}${DAY}(?: +|-)${MONTH}(?: +|-)${YEAR},? +${TIME}(?: *${ZONE})?$`, 'iu'),
  // Sun Nov 6 08:49:37 1994 · Mon Jun 15 12:00:30 UTC 2026
  new RegExp(`^${WEEKDAY}${MONTH} +${DAY} +${TIME}(?: ${ZONE})? (?<year>[0-9]{4})$`, 'iu'),
  // Sun Nov 6 08:49:37 1994 GMT
  new RegExp(`^${WEEKDAY}${MONTH} +${DAY} +${TIME} (?<year>[0-9]{4}) ${ZONE}$`, 'iu'),
  // Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)
  new RegExp(`^${WEEKDAY}${MONTH} +${DAY},? +(?<year>[0-9]{4}),? +${TIME}(?: *${ZONE})?$`, 'iu'),
];

/** RFC 3339, its blank instead of T, minute precision, and the basic format without separators. */
const ISO_SHAPES: readonly RegExp[] = [
  new RegExp(`^(?<year>[0-9]{4})-(?<month>[0-9]{2})-(?<day>[0-9]{2})(?:t| +)${TIME}(?: *${ZONE})?$`, 'iu'),
  /^(?<year>[0-9]{4})(?<month>[0-9]{2})(?<day>[0-9]{2})t(?<hour>[0-9]{2})(?<minute>[0-9]{2})(?:(?<second>[0-9]{2})(?:\.(?<fraction>[0-9]+))?)?(?<zone>z|[+-][0-9]{2}(?::?[0-9]{2})?)?$/iu,
];

/** RFC 5322 section 4.3. Other abbreviations are ambiguous (IST is three zones) and are not guessed. */
const ZONE_HOURS: ReadonlyMap<string, number> = new Map([
  ['z', 0],
  ['ut', 0],
  ['utc', 0],
  ['gmt', 0],
  ['est', -5],
  ['edt', -4],
  ['cst', -6],
  ['cdt', -5],
  ['mst', -7],
  ['mdt', -6],
  ['pst', -8],
  ['pdt', -7],
]);

const OFFSET = /(?<sign>[+-])(?<hours>[0-9]{2}):?(?<minutes>[0-9]{2})?$/u;

interface OffsetParts {
  readonly sign: string;
  readonly hours: string;
  readonly minutes?: string;
}

/**
 * Reads the dates that servers send where an HTTP-date belongs: any case, a wrong or missing weekday, zone names
 * and offsets, two-digit years, cookie dates, JavaScript's and Go's own spelling, ISO 8601. A time without seconds
 * means the end of its minute, and second 60 the next minute's start: a reading is never earlier than the text.
 *
 * @param nowMs The instant the century of a two-digit year is judged from.
 */
export function parseSloppyDate(text: string, nowMs: number): SloppyDateReading {
  for (const shape of SHAPES) {
    const parts = shape.exec(text)?.groups as DateParts | undefined;
    if (parts !== undefined) return readNamedMonth(parts, nowMs);
  }
  for (const shape of ISO_SHAPES) {
    const parts = shape.exec(text)?.groups as DateParts | undefined;
    if (parts !== undefined) return readIso(parts);
  }
  return { kind: 'malformed', fault: 'not_a_date' };
}

/** What every shape captures; a shape without the optional ones does not have them. */
interface DateParts {
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  readonly minute: string;
  readonly second?: string;
  readonly fraction?: string;
  readonly zone?: string;
}

function readNamedMonth(parts: DateParts, nowMs: number): SloppyDateReading {
  const month = monthOf(parts.month);
  if (month < 0) return { kind: 'malformed', fault: 'not_a_date' };
  const offsetMs = zoneOffsetMs(parts.zone ?? 'gmt');
  if (offsetMs === undefined) return { kind: 'malformed', fault: 'unknown_zone' };
  const written = civilOf(parts, month);
  const isShort = parts.year.length === 2;
  const year = isShort ? fullYear(written, nowMs + offsetMs) : written.year;
  return instantOf({ ...written, year }, parts, offsetMs, 'sloppy_date');
}

function readIso(parts: DateParts): SloppyDateReading {
  const zone = parts.zone;
  if (zone === undefined) return { kind: 'malformed', fault: 'no_zone' };
  const offsetMs = zoneOffsetMs(zone);
  if (offsetMs === undefined) return { kind: 'malformed', fault: 'unknown_zone' };
  const month = Number(parts.month) - 1;
  if (month < 0 || month > 11) return { kind: 'malformed', fault: 'impossible_date' };
  return instantOf(civilOf(parts, month), parts, offsetMs, 'iso_8601');
}

function instantOf(
  time: CivilTime,
  parts: DateParts,
  offsetMs: number,
  form: 'iso_8601' | 'sloppy_date',
): SloppyDateReading {
  if (!isPossible(time)) return { kind: 'malformed', fault: 'impossible_date' };
  const startMs = epochMsOf(time) - offsetMs;
  return { kind: 'date', epochMs: startMs + beyondWrittenMs(parts), form };
}

/** What lies between the written whole second (or minute) and the instant meant, rounded up. */
function beyondWrittenMs(parts: DateParts): number {
  if (parts.second === undefined) return 60_000;
  const fraction = parts.fraction ?? '';
  const wholeMs = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return /[1-9]/u.test(fraction.slice(3)) ? wholeMs + 1 : wholeMs;
}

function civilOf(parts: DateParts, month: number): CivilTime {
  return {
    year: Number(parts.year),
    month,
    day: Number(parts.day),
    hour: Number(parts.hour),
    minute: Number(parts.minute),
    second: Number(parts.second ?? 0),
  };
}

/** Three letters, "Sept", or the whole English name. Other languages are not guessed. */
function monthOf(name: string): number {
  const lower = name.toLowerCase();
  return MONTHS.findIndex(
    (month) => month === lower || month.slice(0, 3) === lower || (lower === 'sept' && month === 'september'),
  );
}

/** East of UTC is positive. undefined: the zone is not known. */
function zoneOffsetMs(zone: string): number | undefined {
  const lower = zone.toLowerCase();
  const numeric = OFFSET.exec(lower)?.groups as OffsetParts | undefined;
  if (numeric === undefined) {
    const hours = ZONE_HOURS.get(lower);
    return hours === undefined ? undefined : hours * 3_600_000;
  }
  const hours = Number(numeric.hours);
  const minutes = Number(numeric.minutes ?? 0);
  if (hours > 23 || minutes > 59) return undefined;
  return (numeric.sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
