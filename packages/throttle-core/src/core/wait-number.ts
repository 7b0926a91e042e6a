/**
 * The longest wait there is, in seconds: 2^31, the value that HTTP caches use where a number of seconds overflows
 * (RFC 9111 section 1.2.2). Longer waits saturate; turned into "no wait" they would be asked too early.
 */
export const WAIT_SECONDS_MAX = 2 ** 31;

/** A written decimal number: never a sign of its own, never hexadecimal, ASCII digits only. */
export interface Decimal {
  readonly whole: string;
  readonly fraction: string;
  readonly exponent: string;
}

const DECIMAL = /^\+?(?<whole>[0-9]+)(?:\.(?<fraction>[0-9]+))?(?:e(?<exponent>[+-]?[0-9]+))?$/iu;
const BARE_FRACTION = /^\.(?<fraction>[0-9]+)$/u;

/** Reads `30`, `+30`, `30.5`, `1e3` and `.5`; undefined for everything else. */
export function parseDecimal(text: string): Decimal | undefined {
  const groups = (DECIMAL.exec(text) ?? BARE_FRACTION.exec(text))?.groups;
  if (groups === undefined) return undefined;
  return {
    whole: groups['whole'] ?? '',
    fraction: groups['fraction'] ?? '',
    exponent: groups['exponent'] ?? '0',
  };
}

/**
 * The smallest whole number not below `decimal x 10^shift`, at most `max`. Worked out on the digits, because
 * floating point loses the last ones (`30.00000000000000000001` is more than 30) and overflows on long ones.
 */
export function ceilDecimal(decimal: Decimal, shift: number, max: number): number {
  const digits = decimal.whole + decimal.fraction;
  const first = digits.search(/[1-9]/u);
  if (first < 0) return 0;
  const significant = digits.slice(first);
  const wholeLength = decimal.whole.length - first + Number(decimal.exponent) + shift;
  if (wholeLength <= 0) return 1;
  if (wholeLength > 17) return max;
  const whole = Number(significant.slice(0, wholeLength).padEnd(wholeLength, '0'));
  const isRounded = /[1-9]/u.test(significant.slice(wholeLength));
  return Math.min(max, isRounded ? whole + 1 : whole);
}

/** Whole seconds from a span in milliseconds, rounded up; a span that is over gives 0. */
export function wholeSeconds(spanMs: number): number {
  return Math.min(WAIT_SECONDS_MAX, Math.max(0, Math.ceil(spanMs / 1000)));
}

const GO_UNITS_NS: Readonly<Record<GoUnit, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

type GoUnit = 'ns' | 'us' | 'µs' | 'μs' | 'ms' | 's' | 'm' | 'h';

/** One term, as {@link GO_TERM} captures it. */
type GoTerm = readonly [text: string, whole: string, fraction: string | undefined, unit: GoUnit];

const GO_TERM = /([0-9]+)(?:\.([0-9]+))?(ns|us|µs|μs|ms|s|m|h)/gu;
const GO_DURATION = new RegExp(`^\\+?(?:${GO_TERM.source})+$`, 'u');

/** Longer numbers are beyond any duration Go can hold, and far beyond the longest wait. */
const GO_DIGITS_MAX = 40;

/**
 * Reads what Go's `time.Duration` prints (`1.5s`, `6m0s`, `12ms`, `1h2m3.5s`), in whole seconds rounded up.
 * undefined: not such a duration. Two signs for micro exist, and both are written.
 */
export function parseGoDuration(text: string): number | undefined {
  if (/^\+?0$/u.test(text)) return 0;
  if (!GO_DURATION.test(text)) return undefined;
  let totalNs = 0n;
  for (const term of text.matchAll(GO_TERM)) {
    const [, whole, fraction = '', unit] = term as unknown as GoTerm;
    const digits = whole.replace(/^0+(?=.)/u, '');
    if (digits.length > GO_DIGITS_MAX) return WAIT_SECONDS_MAX;
    const kept = fraction.slice(0, GO_DIGITS_MAX);
    const scale = 10n ** BigInt(kept.length);
    const isCut = /[1-9]/u.test(fraction.slice(GO_DIGITS_MAX));
    totalNs += (BigInt(digits + kept) * GO_UNITS_NS[unit] + (isCut ? 1n : 0n) + scale - 1n) / scale;
  }
  const seconds = (totalNs + 999_999_999n) / 1_000_000_000n;
  return seconds > BigInt(WAIT_SECONDS_MAX) ? WAIT_SECONDS_MAX : Number(seconds);
}
