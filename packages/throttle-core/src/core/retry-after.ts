import { type DateFault, type HttpDateForm, parseHttpDate } from './http-date.ts';
import { parseSloppyDate, type SloppyDateFault } from './sloppy-date.ts';
import { ceilDecimal, type Decimal, parseDecimal, WAIT_SECONDS_MAX, wholeSeconds } from './wait-number.ts';

/** One field of a response, as it arrived. */
export interface WaitField {
  /** The field's lines in order, kept apart; none: the field is absent. */
  readonly lines: readonly string[];
  /** Receipt of the response headers, ms since the epoch on our clock. */
  readonly receivedAtMs: number;
  /** The lines of the response's `Date` field, for instants: a wrong clock of ours must never make us early. */
  readonly dateLines?: readonly string[];
  /** The unit that this host is known to mean by a bare number. null: what the specification says. */
  readonly quirk?: UnitQuirk | null;
}

export type UnitQuirk = 'seconds' | 'milliseconds' | 'epoch_seconds';

/**
 * What a field says about waiting. Three different results: nothing there, nothing usable there, and a delay,
 * which can be zero. None of them stands for another.
 */
export type WaitReading =
  | { readonly kind: 'absent' }
  | { readonly kind: 'malformed'; readonly fault: WaitFault }
  | WaitDelay;

export interface WaitDelay {
  readonly kind: 'delay';
  /** Whole seconds from receipt, rounded up, 0 to 2^31. */
  readonly seconds: number;
  readonly form: WaitForm;
  readonly basis: WaitBasis;
  /** How many values the field carried; the longest wait of them is this one. */
  readonly candidates: number;
}

export type WaitForm =
  | HttpDateForm
  | 'whole_seconds'
  | 'decimal'
  | 'labelled'
  | 'iso_8601'
  | 'sloppy_date'
  | 'milliseconds'
  | 'epoch_seconds'
  | 'epoch_milliseconds'
  | 'go_duration'
  | 'rate_limit_window';

/** What the seconds are counted from: a span says so itself; an instant is compared with the later-ending clock. */
export type WaitBasis = 'span' | 'receipt' | 'date_header';

export type WaitFault =
  | DateFault
  | SloppyDateFault
  | 'empty'
  | 'several_lines'
  /** A sign where only a span can stand: no permission to go at once. */
  | 'negative'
  /** Not a number, not a date: words, units that are not known, digits that are not ASCII. */
  | 'unreadable'
  /** A date outside the specification that is over is more likely a misread zone than leave to go at once. */
  | 'sloppy_past'
  /** Quota is left, so the field forces no wait. */
  | 'quota_left'
  /** The field says that nothing is left, but not for how long. */
  | 'no_window';

/**
 * Reads Retry-After exactly as RFC 9110 section 10.2.3 has it: one line of `1*DIGIT` or one of the three
 * HTTP-dates. Never throws on any value.
 */
export function parseRetryAfterStrict(field: WaitField): WaitReading {
  const [line, ...others] = field.lines;
  if (line === undefined) return { kind: 'absent' };
  if (others.length > 0) return malformed('several_lines');
  const value = trimOws(line);
  if (value === '') return malformed('empty');
  if (/^[0-9]+$/u.test(value)) {
    return numberDelay({ whole: value, fraction: '', exponent: '0' }, 'whole_seconds', field);
  }
  const date = parseHttpDate(value, field.receivedAtMs);
  return date.kind === 'malformed' ? malformed(date.fault) : instantDelay(date.epochMs, date.form, field);
}

/**
 * Reads Retry-After as people send it. Whatever the strict parser reads, it reads as the same number or a larger
 * one; it never re-reads a unit and never shortens. `malformed` means that there is no usable hint, never zero.
 * Repeated lines, and values joined by a comma and a blank, give the longest wait. Never throws on any value.
 */
export function parseRetryAfterLenient(field: WaitField): WaitReading {
  return longestOf(field.lines, (value) => readLenient(value, field));
}

/**
 * Reads every value of a field's lines and keeps the longest wait; the first fault where none is usable. A comma
 * that belongs to a date is not a separator, and one without a blank may be a decimal comma: it is not guessed.
 */
export function longestOf(lines: readonly string[], read: (value: string) => WaitReading): WaitReading {
  return longestReading(lines.flatMap((line) => readLine(trimOws(line), read)));
}

/** The longest delay; without any the first reading; absent where there is none. */
export function longestReading(readings: readonly WaitReading[]): WaitReading {
  const [first, ...rest] = readings.filter((reading) => reading.kind === 'delay');
  if (first === undefined) return readings[0] ?? { kind: 'absent' };
  const longest = rest.reduce((best, next) => (next.seconds > best.seconds ? next : best), first);
  return { ...longest, candidates: readings.length };
}

function readLine(line: string, read: (value: string) => WaitReading): readonly WaitReading[] {
  const whole = read(line);
  if (whole.kind === 'delay' || !/,[ \t]/u.test(line)) return [whole];
  const members = splitMembers(line).map((member) => read(member));
  return members.some((member) => member.kind === 'delay') ? members : [whole];
}

/** Splits at `, `, but keeps a weekday together with what follows it: the 15 of "Mon, 15" is not a wait. */
function splitMembers(line: string): readonly string[] {
  const members: string[] = [];
  let weekday: string | undefined;
  for (const piece of line.split(/,[ \t]+/u).map(trimOws)) {
    const member = weekday === undefined ? piece : `${weekday}, ${piece}`;
    weekday = weekday === undefined && isWeekday(piece) ? piece : undefined;
    if (weekday === undefined) members.push(member);
  }
  return weekday === undefined ? members : [...members, weekday];
}

function isWeekday(text: string): boolean {
  return /^(?:sun|mon|tue|wed|thu|fri|sat)[a-z]{0,6}\.?$/iu.test(text);
}

function readLenient(value: string, field: WaitField): WaitReading {
  if (value === '') return malformed('empty');
  const decimal = parseDecimal(value);
  if (decimal !== undefined) {
    const isWhole = /^[0-9]+$/u.test(value);
    return numberDelay(decimal, isWhole ? 'whole_seconds' : 'decimal', field);
  }
  return readLabelled(value) ?? readDate(value, field);
}

/** `30s`, `30 seconds`, `500ms`: units that cannot be mistaken. Minutes and longer are not guessed. */
export function readLabelled(value: string): WaitDelay | undefined {
  const groups = /^(?<number>[0-9]+(?:\.[0-9]+)?)[ \t]*(?<unit>ms|s|secs?|seconds?)$/iu.exec(value)?.groups;
  const decimal = parseDecimal(groups?.['number'] ?? '');
  if (groups === undefined || decimal === undefined) return undefined;
  const shift = groups['unit']?.toLowerCase() === 'ms' ? -3 : 0;
  return span(ceilDecimal(decimal, shift, WAIT_SECONDS_MAX), 'labelled');
}

/** A date in any spelling that is known, the specification's own first. */
export function readDate(value: string, field: WaitField): WaitReading {
  const date = parseHttpDate(value, field.receivedAtMs);
  if (date.kind === 'date') return instantDelay(date.epochMs, date.form, field);
  const sloppy = parseSloppyDate(value, field.receivedAtMs);
  if (sloppy.kind === 'malformed') return malformed(faultOf(value, sloppy.fault));
  const delay = instantDelay(sloppy.epochMs, sloppy.form, field);
  return delay.seconds === 0 ? malformed('sloppy_past') : delay;
}

function faultOf(value: string, fault: SloppyDateFault): WaitFault {
  if (fault !== 'not_a_date') return fault;
  return value.startsWith('-') ? 'negative' : 'unreadable';
}

function numberDelay(decimal: Decimal, form: 'whole_seconds' | 'decimal', field: WaitField): WaitDelay {
  const seconds = ceilDecimal(decimal, 0, WAIT_SECONDS_MAX);
  switch (field.quirk ?? 'seconds') {
    case 'seconds':
      return span(seconds, form);
    case 'milliseconds':
      return span(ceilDecimal(decimal, -3, WAIT_SECONDS_MAX), 'milliseconds');
    case 'epoch_seconds':
      // No server's clock stands before 2001: a smaller number is the span it would be without the quirk.
      return seconds < EPOCH_SECONDS_LEAST
        ? span(seconds, form)
        : epochDelay(decimal, 'epoch_seconds', field);
  }
}

/** 2001-09-09: from here on a number of seconds is taken for an instant where instants are usual. */
export const EPOCH_SECONDS_LEAST = 1e9;

/** The wait until an instant written as a number of seconds or milliseconds since the epoch. */
export function epochDelay(
  decimal: Decimal,
  form: 'epoch_seconds' | 'epoch_milliseconds',
  field: WaitField,
): WaitDelay {
  const epochMs = ceilDecimal(decimal, form === 'epoch_seconds' ? 3 : 0, Number.MAX_SAFE_INTEGER);
  return instantDelay(epochMs, form, field);
}

export function span(seconds: number, form: WaitForm): WaitDelay {
  return { kind: 'delay', seconds, form, basis: 'span', candidates: 1 };
}

export function malformed(fault: WaitFault): WaitReading {
  return { kind: 'malformed', fault };
}

/**
 * Seconds until a server's instant. Our clock may be fast, so the server's own clock at the time of sending counts
 * too, and the longer wait wins: (value - receipt) or (value - Date).
 */
function instantDelay(epochMs: number, form: WaitForm, field: WaitField): WaitDelay {
  const byReceipt = wholeSeconds(epochMs - field.receivedAtMs);
  const sentAtMs = sentAt(field);
  const byDate = sentAtMs === undefined ? 0 : wholeSeconds(epochMs - sentAtMs);
  return byDate > byReceipt
    ? { kind: 'delay', seconds: byDate, form, basis: 'date_header', candidates: 1 }
    : { kind: 'delay', seconds: byReceipt, form, basis: 'receipt', candidates: 1 };
}

/** The server's clock; of several readable Date lines the earliest, which makes the wait longest. */
function sentAt({ dateLines = [], receivedAtMs }: WaitField): number | undefined {
  const instants = dateLines.flatMap((line) => {
    const value = trimOws(line);
    const date = parseHttpDate(value, receivedAtMs);
    const reading = date.kind === 'date' ? date : parseSloppyDate(value, receivedAtMs);
    return reading.kind === 'date' ? [reading.epochMs] : [];
  });
  return instants.length === 0 ? undefined : Math.min(...instants);
}

/** Strips SP and HTAB only (RFC 9110 section 5.6.3). `trim()` would also take a no-break space for nothing. */
export function trimOws(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isOws(text, start)) start += 1;
  while (end > start && isOws(text, end - 1)) end -= 1;
  return text.slice(start, end);
}

function isOws(text: string, index: number): boolean {
  return text[index] === ' ' || text[index] === '\t';
}
