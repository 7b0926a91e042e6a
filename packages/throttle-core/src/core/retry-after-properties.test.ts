import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBodySigns } from './body-signs.ts';
import { classifyAnswer, classifyFault } from './classify-outcome.ts';
import { explainReading } from './explain-wait.ts';
import type { FaultPhase } from './fault-outcomes.ts';
import { readServerWait, waitReaderOf } from './read-server-wait.ts';
import {
  parseRetryAfterLenient,
  parseRetryAfterStrict,
  type UnitQuirk,
  type WaitField,
  type WaitReading,
} from './retry-after.ts';
import { WAIT_SECONDS_MAX } from './wait-number.ts';

const RUNS = { numRuns: 2000 };
const EPOCH_MS = { min: Date.UTC(1970, 0, 1), max: Date.UTC(2199, 11, 31) };

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The three HTTP-dates of an instant in whole seconds, spelled by the platform's writer, not by our tables. */
function spellings(epochMs: number): readonly [imf: string, rfc850: string, asctime: string] {
  const imf = new Date(epochMs).toUTCString();
  const [, day = '', month = '', year = '', time = ''] = imf.split(' ');
  const weekday = WEEKDAYS[new Date(epochMs).getUTCDay()] ?? '';
  const rfc850 = `${weekday}, ${day}-${month}-${year.slice(-2)} ${time} GMT`;
  const asctime = `${weekday.slice(0, 3)} ${month} ${day.replace(/^0/u, ' ')} ${time} ${year}`;
  return [imf, rfc850, asctime];
}

const instant = fc
  .integer({ min: EPOCH_MS.min / 1000, max: EPOCH_MS.max / 1000 })
  .map((seconds) => seconds * 1000);
const receipt = fc.integer(EPOCH_MS);
const quirk = fc.constantFrom<(UnitQuirk | null)[]>('seconds', 'milliseconds', 'epoch_seconds', null);

/** Pieces of real values, put together wrongly: closer to what servers send than any bytes. */
const sloppy = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '30',
        '60',
        '0',
        '1.5',
        '.5',
        '1e3',
        '-5',
        '+3',
        's',
        'ms',
        ' seconds',
        ', ',
        ',',
        ' ',
        '\t',
      ),
      fc.constantFrom(
        'Mon, ',
        'Monday, ',
        '15 Jun 2026 ',
        '15-Jun-26 ',
        '12:00:30',
        ' GMT',
        ' +0200',
        'Z',
        'T',
        '2026-06-15',
      ),
      instant.chain((epochMs) => fc.constantFrom(...spellings(epochMs))),
      fc.string({ unit: 'binary', maxLength: 4 }),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));
const bytes = fc.uint8Array({ maxLength: 64 }).map((octets) => Buffer.from(octets).toString('latin1'));
const value = fc.oneof(sloppy, bytes, fc.string({ unit: 'binary' }), fc.bigInt({ min: 0n }).map(String));
const lines = fc.array(value, { maxLength: 4 });
const field: fc.Arbitrary<WaitField> = fc.record({
  lines,
  receivedAtMs: receipt,
  dateLines: fc.array(
    fc.oneof(
      value,
      instant.map((epochMs) => spellings(epochMs)[0]),
    ),
    { maxLength: 2 },
  ),
  quirk,
});

function isSound(reading: WaitReading): boolean {
  if (reading.kind !== 'delay') return true;
  const { seconds } = reading;
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= WAIT_SECONDS_MAX;
}

function secondsOf(reading: WaitReading): number {
  return reading.kind === 'delay' ? reading.seconds : -1;
}

describe('whatever a server sends', () => {
  test('both parsers answer with one of the three kinds, and a delay is whole, not negative and bounded', () => {
    fc.assert(
      fc.property(field, (asked) => {
        for (const reading of [parseRetryAfterStrict(asked), parseRetryAfterLenient(asked)]) {
          expect(isSound(reading)).toBe(true);
          expect(explainReading(reading)).not.toBe('');
          expect(reading.kind === 'absent').toBe(asked.lines.length === 0);
        }
      }),
      RUNS,
    );
  });

  test('where the strict parser reads a delay, the lenient one never reads a shorter one', () => {
    const strictish = fc.oneof(
      fc.nat().map(String),
      fc.bigInt({ min: 0n, max: 10n ** 40n }).map(String),
      instant.chain((epochMs) => fc.constantFrom(...spellings(epochMs))),
    );
    const asked = fc.record({
      lines: fc.tuple(strictish),
      receivedAtMs: receipt,
      dateLines: fc.array(strictish, { maxLength: 2 }),
      quirk,
    });
    fc.assert(
      fc.property(fc.oneof(field, asked), (one) => {
        const strict = parseRetryAfterStrict(one);
        fc.pre(strict.kind === 'delay');
        expect(secondsOf(parseRetryAfterLenient(one))).toBeGreaterThanOrEqual(secondsOf(strict));
      }),
      RUNS,
    );
  });

  test('one more line never makes the wait shorter', () => {
    fc.assert(
      fc.property(field, value, (asked, extra) => {
        const more = { ...asked, lines: [...asked.lines, extra] };
        expect(secondsOf(parseRetryAfterLenient(more))).toBeGreaterThanOrEqual(
          secondsOf(parseRetryAfterLenient(asked)),
        );
      }),
      RUNS,
    );
  });

  test('lines that a library joined read like the lines themselves', () => {
    const member = fc.oneof(
      fc.nat().map(String),
      instant.map((epochMs) => spellings(epochMs)[0]),
      fc.constant('soon'),
    );
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 4 }), receipt, (members, receivedAtMs) => {
        const joined = parseRetryAfterLenient({ lines: [members.join(', ')], receivedAtMs });
        expect(secondsOf(joined)).toBe(secondsOf(parseRetryAfterLenient({ lines: members, receivedAtMs })));
      }),
      RUNS,
    );
  });

  test('a Date line never makes the wait shorter', () => {
    fc.assert(
      fc.property(field, (asked) => {
        const without = { ...asked, dateLines: [] };
        for (const parse of [parseRetryAfterStrict, parseRetryAfterLenient]) {
          expect(secondsOf(parse(asked))).toBeGreaterThanOrEqual(secondsOf(parse(without)));
        }
      }),
      RUNS,
    );
  });

  test('every other header is read just as safely', () => {
    const names = [
      'retry-after-ms',
      'x-ratelimit-reset',
      'x-ratelimit-reset-after',
      'x-retry-in',
      'ratelimit',
      'x-ratelimit-reset-tokens',
    ];
    const lists = fc.stringMatching(/^("[ab]";r=-?\d{1,3};t=-?\d{1,16}(\.\d)?(, )?){0,3}$/u);
    const durations = fc.stringMatching(/^(\d{1,30}(\.\d{1,30})?(ns|us|µs|ms|s|m|h)){0,4}$/u);
    const lines = fc.array(fc.oneof(value, lists, durations), { maxLength: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...names), lines, receipt, quirk, (name, values, receivedAtMs, unit) => {
        const reading = waitReaderOf(name)?.({ lines: values, receivedAtMs, quirk: unit });
        expect(reading !== undefined && isSound(reading)).toBe(true);
      }),
      RUNS,
    );
  });

  test('a whole response is read and classified without an exception', () => {
    const name = fc.oneof(
      fc.constantFrom(
        'retry-after',
        'retry-after-ms',
        'ratelimit',
        'x-ratelimit-reset',
        'x-ratelimit-remaining',
        'date',
        'age',
      ),
      fc.constantFrom(
        'ratelimit-reset',
        'ratelimit-remaining',
        'x-ratelimit-reset-requests',
        'cf-mitigated',
        'proxy-status',
      ),
      fc.string(),
    );
    const head = fc.record({
      status: fc.oneof(fc.integer({ min: 0, max: 999 }), fc.double()),
      headers: fc.dictionary(name, lines),
      receivedAtMs: receipt,
      route: fc.constantFrom(
        'direct' as const,
        'forward_proxy' as const,
        'tunnel' as const,
        'tunnel_setup' as const,
      ),
      body: fc.option(fc.record({ challenge: fc.boolean(), rateLimited: fc.boolean() })),
    });
    fc.assert(
      fc.property(
        head,
        fc.constantFrom('strict' as const, 'lenient' as const),
        quirk,
        (facts, parse, unit) => {
          const { wait, rateLimit } = readServerWait(facts, { parse, quirk: unit });
          const outcome = classifyAnswer(facts);
          expect(outcome.detail.length).toBeLessThan(120);
          expect(wait.kind !== 'delay' || wait.untilMs === facts.receivedAtMs + wait.seconds * 1000).toBe(
            true,
          );
          expect(rateLimit === null || (rateLimit.remaining >= 0 && rateLimit.windowMs > 0)).toBe(true);
          expect(outcome.class === 'throttled' && outcome.stop !== null).toBe(false);
        },
      ),
      RUNS,
    );
  });

  test('any code and any body is data', () => {
    const phase = fc.constantFrom<FaultPhase[]>('queue', 'dns', 'connect', 'proxy', 'tls', 'headers', 'body');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), phase, (text, during) => {
        const { detail } = classifyFault({ code: text, phase: during, route: 'direct' });
        expect(detail.length).toBeLessThan(220);
        expect(typeof readBodySigns(text).challenge).toBe('boolean');
      }),
      RUNS,
    );
  });
});

describe('HTTP-dates against the platform that writes them', () => {
  test('all three forms of any instant give the seconds that are left', () => {
    fc.assert(
      fc.property(
        instant,
        fc.integer({ min: -40 * 365 * 86_400_000, max: 40 * 365 * 86_400_000 }),
        (epochMs, aheadMs) => {
          const receivedAtMs = epochMs - aheadMs;
          const expected = Math.min(WAIT_SECONDS_MAX, Math.max(0, Math.ceil(aheadMs / 1000)));
          for (const spelling of spellings(epochMs)) {
            const reading = parseRetryAfterStrict({ lines: [spelling], receivedAtMs });
            expect([spelling, secondsOf(reading)]).toEqual([spelling, expected]);
          }
        },
      ),
      RUNS,
    );
  });

  test('any other weekday, and any day that the month does not have, is malformed', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 6 }), (epochMs, shift) => {
        const [imf] = spellings(epochMs);
        const weekday = WEEKDAYS[(new Date(epochMs).getUTCDay() + shift) % 7] ?? '';
        const reading = parseRetryAfterStrict({
          lines: [weekday.slice(0, 3) + imf.slice(3)],
          receivedAtMs: epochMs,
        });
        expect(reading).toEqual({ kind: 'malformed', fault: 'wrong_weekday' });
      }),
      RUNS,
    );
    const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    const names = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
    for (const [month, days] of lengths.entries()) {
      const asked = (day: number, year: number): WaitReading =>
        parseRetryAfterLenient({ lines: [`${day} ${names[month]} ${year} 12:00:00 GMT`], receivedAtMs: 0 });
      expect([month, asked(days, 2027).kind, asked(days + 1, 2027).kind]).toEqual([
        month,
        'delay',
        'malformed',
      ]);
    }
    const leap = (year: number): string =>
      parseRetryAfterLenient({ lines: [`29 Feb ${year} 12:00:00 GMT`], receivedAtMs: 0 }).kind;
    expect([2024, 2000, 2400, 2023, 2100, 1900].map(leap)).toEqual([
      'delay',
      'delay',
      'delay',
      'malformed',
      'malformed',
      'malformed',
    ]);
  });

  test('a longer delay never reads shorter', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        fc.bigInt({ min: 0n, max: 10n ** 12n }),
        quirk,
        (one, more, unit) => {
          fc.pre(unit !== 'epoch_seconds');
          const ask = (number: bigint): number =>
            secondsOf(parseRetryAfterLenient({ lines: [String(number)], receivedAtMs: 0, quirk: unit }));
          expect(ask(one + more)).toBeGreaterThanOrEqual(ask(one));
        },
      ),
      RUNS,
    );
    fc.assert(
      fc.property(instant, fc.nat(1_000_000), receipt, (epochMs, laterSeconds, receivedAtMs) => {
        const ask = (at: number): number =>
          secondsOf(parseRetryAfterLenient({ lines: [spellings(at)[0]], receivedAtMs }));
        expect(ask(epochMs + laterSeconds * 1000)).toBeGreaterThanOrEqual(ask(epochMs));
      }),
      RUNS,
    );
  });

  test('decimals are rounded up exactly, however they are written', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.nat(14),
        fc.integer({ min: -20, max: 20 }),
        (digits, places, exponent) => {
          const text = String(digits).padStart(places + 1, '0');
          const whole = text.slice(0, text.length - places);
          const fraction = text.slice(text.length - places);
          const written = `${whole}${places === 0 ? '' : `.${fraction}`}e${exponent}`;
          const power = exponent - places;
          const exact =
            power >= 0
              ? digits * 10n ** BigInt(power)
              : (digits + 10n ** BigInt(-power) - 1n) / 10n ** BigInt(-power);
          const expected = exact > BigInt(WAIT_SECONDS_MAX) ? WAIT_SECONDS_MAX : Number(exact);
          expect([written, secondsOf(parseRetryAfterLenient({ lines: [written], receivedAtMs: 0 }))]).toEqual(
            [written, expected],
          );
        },
      ),
      RUNS,
    );
  });
});
