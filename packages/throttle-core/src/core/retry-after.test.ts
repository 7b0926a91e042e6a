import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitReaderOf } from './read-server-wait.ts';
import {
  parseRetryAfterLenient,
  parseRetryAfterStrict,
  type UnitQuirk,
  type WaitField,
  type WaitReading,
} from './retry-after.ts';

interface Vector {
  readonly name: string;
  readonly header: string;
  readonly value: string | readonly string[] | null;
  readonly receivedAt: string;
  readonly expectStrict: number | 'absent' | 'malformed';
  /** null: no usable hint. */
  readonly expectLenient: number | null;
  readonly why: string;
  readonly quirk?: { readonly unit: UnitQuirk; readonly seconds: number };
}

function readVectors(name: string): readonly Vector[] {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')) as readonly Vector[];
}

const VECTORS = [
  ...readVectors('./retry-after.vectors.json'),
  ...readVectors('./retry-after.own-vectors.json'),
];

/** The zone, and its offset from UTC on 2026-01-15 in minutes as `getTimezoneOffset` counts it. */
const ZONES = [
  ['America/New_York', 300],
  ['Asia/Kolkata', -330],
  ['UTC', 0],
] as const;

describe.each(ZONES)('the vectors on a machine in %s', (zone, offsetMinutes) => {
  const before = process.env['TZ'];
  beforeAll(() => {
    process.env['TZ'] = zone;
  });
  afterAll(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });

  test('the zone is in force, and the platform date parser falls for it', () => {
    expect(new Date(2026, 0, 15).getTimezoneOffset()).toBe(offsetMinutes);
    const platformMs = Date.parse('Thu Jan 15 12:02:00 2026');
    expect(platformMs - Date.UTC(2026, 0, 15, 12, 2)).toBe(offsetMinutes * 60_000);
  });

  test.each(VECTORS)('$name: $why', (vector) => {
    const field = fieldOf(vector);
    expect(strictOf(vector, field)).toBe(vector.expectStrict);
    const lenient = secondsOf(readerOf(vector)(field));
    expect(typeof lenient === 'number' ? lenient : null).toBe(vector.expectLenient);
  });

  test.each(VECTORS.filter(({ quirk }) => quirk !== undefined))('$name under its quirk', (vector) => {
    const field = { ...fieldOf(vector), quirk: vector.quirk?.unit ?? null };
    expect(secondsOf(readerOf(vector)(field))).toBe(vector.quirk?.seconds);
    expect(secondsOf(parseRetryAfterStrict(field))).toBe(vector.quirk?.seconds);
  });
});

function fieldOf({ value, receivedAt }: Vector): WaitField {
  const lines = value === null ? [] : typeof value === 'string' ? [value] : value;
  return { lines, receivedAtMs: Date.parse(receivedAt) };
}

function readerOf({ header }: Vector): (field: WaitField) => WaitReading {
  const reader = waitReaderOf(header);
  if (reader === undefined) throw new Error(`no reader for ${header}`);
  return reader;
}

function strictOf({ header }: Vector, field: WaitField): number | string {
  return header === 'Retry-After' ? secondsOf(parseRetryAfterStrict(field)) : 'absent';
}

function secondsOf(reading: WaitReading): number | 'absent' | 'malformed' {
  return reading.kind === 'delay' ? reading.seconds : reading.kind;
}

const NOON = Date.UTC(2026, 5, 15, 12);

function both(lines: readonly string[], rest: Partial<WaitField> = {}): readonly [string, string] {
  const field = { lines, receivedAtMs: NOON, ...rest };
  return [label(parseRetryAfterStrict(field)), label(parseRetryAfterLenient(field))];
}

function label(reading: WaitReading): string {
  switch (reading.kind) {
    case 'absent':
      return 'absent';
    case 'malformed':
      return reading.fault;
    case 'delay':
      return `${reading.seconds} ${reading.form} ${reading.basis}`;
  }
}

describe('the Date header', () => {
  const value = ['Mon, 15 Jun 2026 12:01:00 GMT'];

  test('a clock of ours that is an hour fast does not end the wait early', () => {
    const sent = { dateLines: ['Mon, 15 Jun 2026 12:00:00 GMT'], receivedAtMs: NOON + 3_600_000 };
    expect(both(value, sent)).toEqual(['60 imf_fixdate date_header', '60 imf_fixdate date_header']);
  });

  test('a clock of ours that is slow makes the wait longer, never shorter', () => {
    const sent = { dateLines: ['Mon, 15 Jun 2026 12:00:50 GMT'], receivedAtMs: NOON };
    expect(both(value, sent)).toEqual(['60 imf_fixdate receipt', '60 imf_fixdate receipt']);
  });

  test('of several Date lines the earliest counts, and one that cannot be read counts for nothing', () => {
    const dateLines = [' Mon, 15 Jun 2026 11:59:40 GMT', 'Mon, 15 Jun 2026 11:59:50 GMT', 'yesterday'];
    expect(both(value, { dateLines })).toEqual(['80 imf_fixdate date_header', '80 imf_fixdate date_header']);
    expect(both(value, { dateLines: ['yesterday'] })[0]).toBe('60 imf_fixdate receipt');
  });

  test('a Date in a sloppy spelling is still the clock of the server', () => {
    const dateLines = ['mon, 15 jun 2026 11:59:30 utc'];
    expect(both(value, { dateLines })[0]).toBe('90 imf_fixdate date_header');
  });

  test('it says nothing about a number of seconds', () => {
    expect(both(['60'], { dateLines: ['Mon, 15 Jun 2026 11:00:00 GMT'] })[1]).toBe('60 whole_seconds span');
  });

  test('a sloppy date that is over by our clock still counts by the clock of the server', () => {
    const sent = { dateLines: ['Mon, 15 Jun 2026 12:00:00 GMT'], receivedAtMs: NOON + 3_600_000 };
    expect(both(['2026-06-15T12:00:30Z'], sent)[1]).toBe('30 iso_8601 date_header');
  });
});

describe('why a value is no usable wait', () => {
  test.each([
    [[], 'absent', 'absent'],
    [[''], 'empty', 'empty'],
    [[' \t '], 'empty', 'empty'],
    [['-5'], 'not_a_date', 'negative'],
    [['soon'], 'not_a_date', 'unreadable'],
    [['Mon, 31 Feb 2026 12:00:00 GMT'], 'impossible_date', 'impossible_date'],
    [['Tue, 15 Jun 2026 12:00:30 GMT'], 'wrong_weekday', '30 sloppy_date receipt'],
    [['Mon, 15 Jun 2026 12:00:30 CEST'], 'not_a_date', 'unknown_zone'],
    [['2026-06-15T12:00:30'], 'not_a_date', 'no_zone'],
    [['Mon, 15 Jun 2026 11:59:59 UTC'], 'not_a_date', 'sloppy_past'],
    [['Mon, 15 Jun 2026 12:00:00 UTC'], 'not_a_date', 'sloppy_past'],
    [['30', '60'], 'several_lines', '60 whole_seconds span'],
    [['soon', 'later'], 'several_lines', 'unreadable'],
    [['soon', '60'], 'several_lines', '60 whole_seconds span'],
    [['soon, later'], 'not_a_date', 'unreadable'],
  ])('%j is %s by the rules and %s in practice', (lines, strict, lenient) => {
    expect(both(lines)).toEqual([strict, lenient]);
  });
});

describe('values joined into one line', () => {
  test.each([
    ['30, 60', '60 whole_seconds span'],
    ['60,\t30', '60 whole_seconds span'],
    ['soon, 60', '60 whole_seconds span'],
    ['10, Mon, 15 Jun 2026 12:00:30 GMT', '30 imf_fixdate receipt'],
    ['Mon, 15 Jun 2026 12:00:30 GMT, Mon, 15 Jun 2026 12:01:00 GMT', '60 imf_fixdate receipt'],
    ['Monday, 15-Jun-26 12:00:30 GMT, 5', '30 rfc850_date receipt'],
    ['Mon, 15', 'unreadable'],
    ['Mon, 15, 20', '20 whole_seconds span'],
    ['20, Mon', '20 whole_seconds span'],
    ['Mon, 31 Feb 2026 12:00:30 GMT', 'impossible_date'],
  ])('%s', (line, lenient) => {
    expect(both([line])[1]).toBe(lenient);
  });

  test('the number of values is kept, for people', () => {
    const reading = parseRetryAfterLenient({ lines: ['5, 9', '7'], receivedAtMs: NOON });
    expect(reading).toMatchObject({ seconds: 9, candidates: 3 });
    for (const value of ['5', 'Mon, 15 Jun 2026 12:00:05 GMT']) {
      const strict = parseRetryAfterStrict({ lines: [value], receivedAtMs: NOON });
      expect(strict).toMatchObject({ seconds: 5, candidates: 1 });
    }
  });
});

describe('a unit that the owner of the host declared', () => {
  test.each<[UnitQuirk, string, string, string]>([
    ['seconds', '60000', '60000 whole_seconds span', '60000 whole_seconds span'],
    ['milliseconds', '60001', '61 milliseconds span', '61 milliseconds span'],
    ['milliseconds', '1500.5', 'not_a_date', '2 milliseconds span'],
    ['milliseconds', '30s', 'not_a_date', '30 labelled span'],
    ['epoch_seconds', String(NOON / 1000 + 30), '30 epoch_seconds receipt', '30 epoch_seconds receipt'],
    ['epoch_seconds', `${NOON / 1000 + 30}.25`, 'not_a_date', '31 epoch_seconds receipt'],
    ['epoch_seconds', String(NOON / 1000 - 1), '0 epoch_seconds receipt', '0 epoch_seconds receipt'],
    ['epoch_seconds', '30', '30 whole_seconds span', '30 whole_seconds span'],
    ['epoch_seconds', '9'.repeat(30), '2147483648 epoch_seconds receipt', '2147483648 epoch_seconds receipt'],
  ])('%s: %s', (quirk, value, strict, lenient) => {
    expect(both([value], { quirk })).toEqual([strict, lenient]);
  });
});
