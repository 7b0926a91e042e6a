/** The three spellings of an HTTP-date (RFC 9110 section 5.6.7). All mean UTC; a sender may use only the first. */
export type HttpDateForm = 'imf_fixdate' | 'rfc850_date' | 'asctime_date';

export type DateFault =
  /** Not the shape of a date at all. */
  | 'not_a_date'
  /** The 31st of February, 24 o'clock, a leap second at noon. */
  | 'impossible_date'
  /** The date exists, but fell on another day of the week. */
  | 'wrong_weekday';

export type HttpDateReading =
  | { readonly kind: 'date'; readonly epochMs: number; readonly form: HttpDateForm }
  | { readonly kind: 'malformed'; readonly fault: DateFault };

export interface CivilTime {
  readonly year: number;
  /** 0 is January. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

const MONTH = `(?<month>${MONTHS.join('|')})`;
const SHORT_DAY = `(?<weekday>${WEEKDAYS.map((name) => name.slice(0, 3)).join('|')})`;
const LONG_DAY = `(?<weekday>${WEEKDAYS.join('|')})`;
const TIME = '(?<hour>[0-9]{2}):(?<minute>[0-9]{2}):(?<second>[0-9]{2})';

const FORMS: readonly { readonly form: HttpDateForm; readonly shape: RegExp }[] = [
  {
    form: 'imf_fixdate',
    shape: new RegExp(`^${SHORT_DAY}, (?<day>[0-9]{2}) ${MONTH} (?<year>[0-9]{4}) ${TIME} GMT$`, 'u'),
  },
  {
    form: 'rfc850_date',
    shape: new RegExp(`^${LONG_DAY}, (?<day>[0-9]{2})-${MONTH}-(?<year>[0-9]{2}) ${TIME} GMT$`, 'u'),
  },
  {
    form: 'asctime_date',
    shape: new RegExp(`^${SHORT_DAY} ${MONTH} (?<day>[0-9]{2}| [0-9]) ${TIME} (?<year>[0-9]{4})$`, 'u'),
  },
];

/**
 * Reads an HTTP-date exactly as RFC 9110 section 5.6.7 writes it: case-sensitive, UTC, calendar-valid, and with
 * the weekday that the date fell on (RFC 5322 section 3.3). The platform's own date parser is of no use here: it
 * reads asctime as local time, moves the 31st of February to March and 23:59:60 back a minute.
 *
 * @param nowMs The instant the century of a two-digit year is judged from.
 */
export function parseHttpDate(text: string, nowMs: number): HttpDateReading {
  for (const { form, shape } of FORMS) {
    const parts = shape.exec(text)?.groups as DateParts | undefined;
    if (parts !== undefined) return readShape(parts, form, nowMs);
  }
  return { kind: 'malformed', fault: 'not_a_date' };
}

/** What every one of the three shapes captures. */
interface DateParts {
  readonly weekday: string;
  readonly year: string;
  readonly month: string;
  readonly day: string;
  readonly hour: string;
  readonly minute: string;
  readonly second: string;
}

function readShape(parts: DateParts, form: HttpDateForm, nowMs: number): HttpDateReading {
  const written: CivilTime = {
    year: Number(parts.year),
    month: MONTHS.indexOf(parts.month),
    day: Number(parts.day),
    hour: Number(parts.hour),
    minute: Number(parts.minute),
    second: Number(parts.second),
  };
  const time = form === 'rfc850_date' ? { ...written, year: fullYear(written, nowMs) } : written;
  const isLeapSecondMisplaced = time.second === 60 && !(time.hour === 23 && time.minute === 59);
  if (!isPossible(time) || isLeapSecondMisplaced) return { kind: 'malformed', fault: 'impossible_date' };
  const weekday = WEEKDAYS.findIndex((name) => name.startsWith(parts.weekday));
  if (weekday !== weekdayOf(time)) return { kind: 'malformed', fault: 'wrong_weekday' };
  return { kind: 'date', epochMs: epochMsOf(time), form };
}

/**
 * Whether the calendar and the clock know this time. Second 60 is let through here: it is the next minute's first
 * second, because Unix time has no room for a leap second, and never one second too early.
 */
export function isPossible({ year, month, day, hour, minute, second }: CivilTime): boolean {
  return day >= 1 && day <= daysInMonth(year, month) && hour <= 23 && minute <= 59 && second <= 60;
}

function daysInMonth(year: number, month: number): number {
  return daysBefore(year, month + 1) - daysBefore(year, month);
}

/** Milliseconds since the epoch, UTC. Times outside their range overflow into the next unit. */
export function epochMsOf({ year, month, day, hour, minute, second }: CivilTime): number {
  const days = daysBefore(year, month) + day - 1;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
}

function weekdayOf({ year, month, day }: CivilTime): number {
  // 1970-01-01 was a Thursday. The double modulo keeps days before it positive.
  return (((daysBefore(year, month) + day - 1 + 4) % 7) + 7) % 7;
}

/** Days from 1970-01-01 to the first of a month in the Gregorian calendar; `month` 12 is the next January. */
function daysBefore(year: number, month: number): number {
  // Counted from March, a year's leap day is its last, so that month lengths follow one formula.
  const fromMarch = month + 10;
  const marchYear = year - 1 + Math.floor(fromMarch / 12);
  const marchMonth = fromMarch % 12;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((153 * marchMonth + 2) / 5) - 719_468;
}

/**
 * The year that two digits mean: the latest one whose instant is not more than 50 years ahead (RFC 9110 section
 * 5.6.7). Exactly 50 years ahead is still the future.
 */
export function fullYear(time: CivilTime, nowMs: number): number {
  const now = new Date(nowMs);
  const nowYear = now.getUTCFullYear();
  const limitMs = now.setUTCFullYear(nowYear + 50);
  const latest = Math.floor((nowYear + 50) / 100) * 100 + time.year;
  const isTooFar = epochMsOf({ ...time, year: latest }) > limitMs;
  if (isTooFar) return latest - 100;
  return latest;
}
