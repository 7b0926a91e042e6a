import { expect, test } from 'vitest';
import { firingsAfter, latestFiring, localDate, runNameOf } from './firings.ts';

const BERLIN = { cron: '30 2 * * *', zone: 'Europe/Berlin' };
const iso = (ms: number): string => new Date(ms).toISOString();

test.each([
  ['an ordinary night', '2026-01-15T00:00:00Z', ['2026-01-15T01:30:00.000Z', '2026-01-16T01:30:00.000Z']],
  ['summer time', '2026-07-15T00:00:00Z', ['2026-07-15T00:30:00.000Z', '2026-07-16T00:30:00.000Z']],
])('%s: the cron line is read in its zone', (_, after, expected) => {
  expect(firingsAfter(BERLIN, Date.parse(after), 2).map(iso)).toEqual(expected);
});

test('the hour that comes twice makes no two runs of one name, and the one that is left out loses no day', () => {
  for (const start of ['2026-10-24T12:00:00Z', '2026-03-28T12:00:00Z']) {
    const firings = firingsAfter(BERLIN, Date.parse(start), 5);
    const names = firings.map((at) => runNameOf('n', at));
    expect(new Set(names).size).toBe(5);
    const days = firings.map((at) => localDate(BERLIN.zone, at));
    expect(new Set(days).size).toBeGreaterThanOrEqual(4);
  }
});

test('the latest firing is the one at the instant itself, or before', () => {
  const at = Date.parse('2026-01-15T01:30:00Z');
  expect(latestFiring(BERLIN, at)).toBe(at);
  expect(latestFiring(BERLIN, at + 1)).toBe(at);
  expect(iso(latestFiring(BERLIN, at - 1))).toBe('2026-01-14T01:30:00.000Z');
});

test('runs are named by their firing in UTC', () => {
  expect(runNameOf('nightly', Date.parse('2026-01-15T02:05:00Z'))).toBe('nightly-20260115T0205');
});

test('{date} is the day where the schedule is at home', () => {
  const late = Date.parse('2026-01-15T23:30:00Z');
  expect(localDate('UTC', late)).toBe('2026-01-15');
  expect(localDate('Europe/Berlin', late)).toBe('2026-01-16');
  expect(localDate('America/New_York', Date.parse('2026-01-15T03:00:00Z'))).toBe('2026-01-14');
});
