import type { RateLimitHint } from './host-effect.ts';
import type { RetryAfterPolicy } from './policy.ts';
import {
  type QuotaWindow,
  quotaWindows,
  readGoDuration,
  readMilliseconds,
  readRateLimit,
  readReset,
  readSpan,
} from './rate-limit-headers.ts';
import {
  parseRetryAfterLenient,
  parseRetryAfterStrict,
  type WaitBasis,
  type WaitDelay,
  type WaitFault,
  type WaitField,
  type WaitForm,
  type WaitReading,
} from './retry-after.ts';
import { ceilDecimal, parseDecimal } from './wait-number.ts';

/** Lower-cased names; repeated lines kept apart, in order. */
export type ResponseHeaders = Readonly<Record<string, readonly string[] | undefined>>;

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Receipt of the response headers, ms since the epoch on our clock. */
  readonly receivedAtMs: number;
}

/** What a response asks for: the wait before the host is asked again, and the quota that is left. */
export interface ServerHints {
  readonly wait: WaitHint;
  readonly rateLimit: RateLimitHint | null;
}

export type WaitHint =
  | { readonly kind: 'absent' }
  /** Something was said that gives no usable wait; `source` is the header. */
  | { readonly kind: 'malformed'; readonly source: string; readonly fault: WaitFault }
  | {
      readonly kind: 'delay';
      readonly source: string;
      /** Whole seconds from receipt, 0 to 2^31. */
      readonly seconds: number;
      /** The same as an instant on our clock. */
      readonly untilMs: number;
      readonly form: WaitForm;
      readonly basis: WaitBasis;
    };

type Reader = (field: WaitField) => WaitReading;

/**
 * Headers that name a wait of their own, in the order they are asked. Retry-After is asked before all of them; a
 * later group counts only where no earlier one gave a wait, and within a group the longest wait counts.
 */
export const EXPLICIT_WAITS: readonly (readonly (readonly [name: string, reader: Reader])[])[] = [
  [
    ['retry-after-ms', readMilliseconds],
    ['x-ms-retry-after-ms', readMilliseconds],
    ['x-amz-retry-after', readMilliseconds],
  ],
  [['x-retry-in', readGoDuration]],
];

/** Headers that say when a quota resets, which is a wait only if the quota is used up or the answer is a 429. */
export const RESETS: readonly (readonly (readonly [name: string, remaining: string, reader: Reader])[])[] = [
  [['ratelimit-reset', 'ratelimit-remaining', readReset]],
  [
    ['x-ratelimit-reset', 'x-ratelimit-remaining', readReset],
    ['x-rate-limit-reset', 'x-rate-limit-remaining', readReset],
    ['x-ratelimit-reset-after', 'x-ratelimit-remaining', readSpan],
    ['x-ratelimit-next', 'x-ratelimit-remaining', readReset],
  ],
];

export const BUCKET_RESET = 'x-ratelimit-reset-';
const BUCKET_REMAINING = 'x-ratelimit-remaining-';

/** Readers by header name, for tools that look at one header alone. undefined: this header says nothing of waits. */
export function waitReaderOf(name: string): Reader | undefined {
  const lower = name.toLowerCase();
  if (lower === 'retry-after') return parseRetryAfterLenient;
  if (lower === 'ratelimit') return readRateLimit;
  for (const [known, reader] of EXPLICIT_WAITS.flat()) if (known === lower) return reader;
  for (const [known, , reader] of RESETS.flat()) if (known === lower) return reader;
  return lower.startsWith(BUCKET_RESET) ? readReset : undefined;
}

/**
 * Reads everything a response says about waiting. Retry-After wins; the other headers are asked, in a fixed order,
 * only where it gives nothing. With `parse: 'strict'` Retry-After alone is read.
 *
 * @throws RangeError when `receivedAtMs` is not a finite number: every instant would be wrong.
 */
export function readServerWait(
  head: ResponseHead,
  policy: Pick<RetryAfterPolicy, 'parse' | 'quirk'>,
): ServerHints {
  if (!Number.isFinite(head.receivedAtMs)) throw new RangeError('receivedAtMs must be a finite number');
  return { wait: readWait(head, policy), rateLimit: readCeiling(head) };
}

/** Which of a response's hints bind us. A status that is not named binds nothing. */
export type WaitScope =
  /** Retry-After and its kin, and every quota's reset: the answer itself says that we were too fast. */
  | 'throttle'
  /** Retry-After and its kin, and resets of quotas that are used up. */
  | 'exhausted'
  /** Retry-After and its kin: the wait before a redirect is followed. */
  | 'redirect'
  | 'none';

export function waitScopeOf(status: number): WaitScope {
  if (status === 429) return 'throttle';
  if (status === 403 || status === 408 || status === 413 || status >= 500) return 'exhausted';
  if (status >= 300 && status <= 399 && status !== 304) return 'redirect';
  return 'none';
}

function readWait(head: ResponseHead, policy: Pick<RetryAfterPolicy, 'parse' | 'quirk'>): WaitHint {
  const scope = waitScopeOf(head.status);
  if (scope === 'none') return ABSENT;
  const read = (source: string, reader: Reader): Named => ({
    source,
    reading: reader(fieldOf(head, source, policy)),
  });
  if (policy.parse === 'strict') return hintOf([[read('retry-after', parseRetryAfterStrict)]], head);
  const groups: Named[][] = [
    [read('retry-after', parseRetryAfterLenient)],
    ...EXPLICIT_WAITS.map((group) => group.map(([name, reader]) => read(name, reader))),
  ];
  if (scope !== 'redirect') {
    groups.push([read('ratelimit', readRateLimit)]);
    for (const group of [...RESETS, bucketsOf(head)]) {
      const resets = group.map(([name, remaining, reader]) => ({
        ...read(name, reader),
        isSpent: isZero(head.headers[remaining]),
      }));
      const spent = resets.filter((reset) => reset.isSpent);
      // Of several buckets the spent ones caused the answer; a 429 that names none could be about any.
      groups.push(spent.length > 0 || scope === 'exhausted' ? spent : resets);
    }
  }
  return hintOf(groups, head);
}

const ABSENT: WaitHint = { kind: 'absent' };

interface Named {
  readonly source: string;
  readonly reading: WaitReading;
}

function hintOf(groups: readonly (readonly Named[])[], head: ResponseHead): WaitHint {
  for (const group of groups) {
    const longest = longestNamed(group);
    if (longest !== undefined) {
      const { source, delay } = longest;
      const { seconds, form, basis } = delay;
      return { kind: 'delay', source, seconds, untilMs: head.receivedAtMs + seconds * 1000, form, basis };
    }
  }
  for (const { source, reading } of groups.flat()) {
    // Quota that is left says nothing about a wait, so nothing was said wrongly either.
    if (reading.kind === 'malformed' && reading.fault !== 'quota_left') {
      return { kind: 'malformed', source, fault: reading.fault };
    }
  }
  return ABSENT;
}

function longestNamed(
  group: readonly Named[],
): { readonly source: string; readonly delay: WaitDelay } | undefined {
  let longest: { readonly source: string; readonly delay: WaitDelay } | undefined;
  for (const { source, reading } of group) {
    if (reading.kind !== 'delay') continue;
    if (longest === undefined || reading.seconds > longest.delay.seconds)
      longest = { source, delay: reading };
  }
  return longest;
}

function fieldOf(head: ResponseHead, name: string, { quirk }: Pick<RetryAfterPolicy, 'quirk'>): WaitField {
  return {
    lines: head.headers[name] ?? [],
    receivedAtMs: head.receivedAtMs,
    dateLines: head.headers['date'] ?? [],
    quirk,
  };
}

function bucketsOf({ headers }: ResponseHead): readonly (readonly [string, string, Reader])[] {
  return Object.keys(headers)
    .filter((name) => name.startsWith(BUCKET_RESET) && name !== 'x-ratelimit-reset-after')
    .map((name) => [name, BUCKET_REMAINING + name.slice(BUCKET_RESET.length), readReset] as const);
}

/** Whether the response says that a quota is used up: `remaining` is 0, or a RateLimit quota has `r=0`. */
export function isQuotaSpent(head: ResponseHead): boolean {
  const names = Object.keys(head.headers).filter(
    (name) => REMAINING.has(name) || name.startsWith(BUCKET_REMAINING),
  );
  if (names.some((name) => isZero(head.headers[name]))) return true;
  return windowsOf(head).some((window) => window.remaining === 0);
}

const REMAINING: ReadonlySet<string> = new Set(RESETS.flat().map(([, remaining]) => remaining));

function isZero(lines: readonly string[] | undefined): boolean {
  return (lines ?? []).some((line) => {
    const decimal = parseDecimal(line.trim());
    return decimal !== undefined && ceilDecimal(decimal, 0, 1) === 0;
  });
}

/** The tightest live quota. What a cache kept (it has an Age) was counted for somebody else. */
function readCeiling(head: ResponseHead): RateLimitHint | null {
  const age = parseDecimal(head.headers['age']?.[0] ?? '');
  if (age !== undefined && ceilDecimal(age, 0, 1) > 0) return null;
  let tightest: QuotaWindow | undefined;
  for (const window of windowsOf(head)) {
    if (window.windowSeconds === 0) continue;
    if (tightest === undefined || isTighter(window, tightest)) tightest = window;
  }
  if (tightest === undefined) return null;
  const windowMs = tightest.windowSeconds * 1000;
  return { remaining: tightest.remaining, windowMs, untilMs: head.receivedAtMs + windowMs };
}

function isTighter(left: QuotaWindow, right: QuotaWindow): boolean {
  const difference = left.remaining * right.windowSeconds - right.remaining * left.windowSeconds;
  return difference === 0 ? left.windowSeconds > right.windowSeconds : difference < 0;
}

/** RateLimit, or the pair of fields that drafts 00 to 06 had in its place. */
function windowsOf(head: ResponseHead): readonly QuotaWindow[] {
  const windows = quotaWindows(fieldOf(head, 'ratelimit', { quirk: null }));
  if (windows.length > 0) return windows;
  const remaining = parseDecimal(head.headers['ratelimit-remaining']?.[0]?.trim() ?? '');
  const reset = readReset(fieldOf(head, 'ratelimit-reset', { quirk: null }));
  if (remaining === undefined || reset.kind !== 'delay') return [];
  const whole = ceilDecimal(remaining, 0, Number.MAX_SAFE_INTEGER);
  return [{ remaining: whole, windowSeconds: reset.seconds }];
}
