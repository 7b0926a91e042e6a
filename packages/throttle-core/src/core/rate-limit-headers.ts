import {
  EPOCH_SECONDS_LEAST,
  epochDelay,
  longestOf,
  longestReading,
  malformed,
  readDate,
  readLabelled,
  span,
  trimOws,
  type WaitDelay,
  type WaitField,
  type WaitReading,
} from './retry-after.ts';
import { parseDictionary, parseNamedList } from './structured-list.ts';
import { ceilDecimal, type Decimal, parseDecimal, parseGoDuration, WAIT_SECONDS_MAX } from './wait-number.ts';

/** At most `remaining` requests may be sent within `windowSeconds`: an upper bound, never a reason to go faster. */
export interface QuotaWindow {
  readonly remaining: number;
  readonly windowSeconds: number;
}

/** Milliseconds, whatever the name suggests: `retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`. */
export function readMilliseconds(field: WaitField): WaitReading {
  return longestOf(field.lines, (value) => {
    const decimal = parseDecimal(value);
    if (decimal !== undefined) return span(ceilDecimal(decimal, -3, WAIT_SECONDS_MAX), 'milliseconds');
    return readLabelled(value) ?? unreadable(value);
  });
}

/** Seconds, often with decimals: `x-ratelimit-reset-after`. */
export function readSpan(field: WaitField): WaitReading {
  return longestOf(field.lines, (value) => {
    const decimal = parseDecimal(value);
    if (decimal !== undefined) return span(ceilDecimal(decimal, 0, WAIT_SECONDS_MAX), 'decimal');
    return readLabelled(value) ?? unreadable(value);
  });
}

/** A Go duration: `x-retry-in: 1m30.5s`. A bare number has no unit here and is not guessed. */
export function readGoDuration(field: WaitField): WaitReading {
  return longestOf(field.lines, (value) => {
    const seconds = parseGoDuration(value);
    return seconds === undefined ? unreadable(value) : span(seconds, 'go_duration');
  });
}

/**
 * When a quota resets, in the three conventions that share one header: below 10^9 a number is seconds from now,
 * below 10^11 an epoch in seconds, above it one in milliseconds. Durations with units and dates are read too.
 */
export function readReset(field: WaitField): WaitReading {
  return longestOf(field.lines, (value) => {
    const decimal = parseDecimal(value);
    if (decimal !== undefined) return readResetNumber(decimal, field);
    const seconds = parseGoDuration(value);
    if (seconds !== undefined) return span(seconds, 'go_duration');
    return readLabelled(value) ?? (value === '' ? malformed('empty') : readDate(value, field));
  });
}

/** From here on a number of seconds would lie beyond the year 5138: it is milliseconds. */
const EPOCH_MILLISECONDS_LEAST = 1e11;

function readResetNumber(decimal: Decimal, field: WaitField): WaitDelay {
  const magnitude = ceilDecimal(decimal, 0, Number.MAX_SAFE_INTEGER);
  if (magnitude >= EPOCH_MILLISECONDS_LEAST) return epochDelay(decimal, 'epoch_milliseconds', field);
  if (magnitude >= EPOCH_SECONDS_LEAST) return epochDelay(decimal, 'epoch_seconds', field);
  // Some sites count the span in milliseconds; only the owner who declares it can tell.
  if (field.quirk === 'milliseconds') return span(ceilDecimal(decimal, -3, WAIT_SECONDS_MAX), 'milliseconds');
  return span(magnitude, 'decimal');
}

/**
 * The wait that a RateLimit field forces: the longest window among the quotas that are used up. A quota that is
 * left forces none. Drafts 08 to 11 write `"name";r=0;t=30`, draft 07 `limit=100, remaining=0, reset=30`. A line
 * that breaks the grammar counts for nothing.
 */
export function readRateLimit(field: WaitField): WaitReading {
  return longestReading(field.lines.flatMap((line) => quotasOf(line, field).map((quota) => quota.wait)));
}

/** The quotas of a RateLimit field with their windows, spent ones included; what is not well-formed is left out. */
export function quotaWindows(field: WaitField): readonly QuotaWindow[] {
  return field.lines.flatMap((line) => quotasOf(line, field).flatMap(({ window }) => window ?? []));
}

interface Quota {
  readonly wait: WaitReading;
  readonly window: QuotaWindow | undefined;
}

function quotasOf(line: string, field: WaitField): readonly Quota[] {
  const value = trimOws(line);
  if (value === '') return [{ wait: malformed('empty'), window: undefined }];
  const list = parseNamedList(value);
  if (list !== undefined) {
    return list.map(({ parameters }) => {
      const seconds = parameters.get('t');
      const window =
        seconds === undefined || seconds < 0 ? undefined : span(limited(seconds), 'rate_limit_window');
      return quota(parameters.get('r'), window);
    });
  }
  const entries = parseDictionary(value);
  const reset = entries?.get('reset');
  const decimal = parseDecimal(reset === undefined ? '' : String(reset));
  const window = decimal === undefined ? undefined : readResetNumber(decimal, field);
  return [quota(entries?.get('remaining'), window)];
}

function quota(remaining: number | undefined, window: WaitDelay | undefined): Quota {
  if (remaining === undefined || remaining < 0) return { wait: malformed('unreadable'), window: undefined };
  const hint = window === undefined ? undefined : { remaining, windowSeconds: window.seconds };
  if (remaining > 0) return { wait: malformed('quota_left'), window: hint };
  return { wait: window ?? malformed('no_window'), window: hint };
}

function limited(seconds: number): number {
  return Math.min(WAIT_SECONDS_MAX, seconds);
}

function unreadable(value: string): WaitReading {
  if (value === '') return malformed('empty');
  return malformed(value.startsWith('-') ? 'negative' : 'unreadable');
}
