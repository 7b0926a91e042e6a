import { expect, test } from 'vitest';
import { parseInstant } from './instant.ts';

const NOW = Date.parse('2026-01-15T12:00:00Z');
const read = (text: string): number | string => {
  const result = parseInstant('not_before', text, NOW);
  return result.kind === 'ok' ? result.value - NOW : 'invalid';
};

test.each([
  ['2026-01-15T12:00:30Z', 30_000],
  ['2026-01-15T12:00:30.250Z', 30_250],
  ['2026-01-15T12:00:30.0001Z', 30_001],
  ['2026-01-15T13:00:30+01:00', 30_000],
  ['2026-01-15T07:00:30-0500', 30_000],
  ['2026-01-15t12:01z', 60_000],
  ['1768478430', 30_000],
  ['1768478430000', 30_000],
  ['+5m', 300_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['+90d', 90 * 86_400_000],
  ['250ms', 250],
  ['0s', 0],
])('%s is %i ms from now', (text, deltaMs) => {
  expect(read(text)).toBe(deltaMs);
});

test.each([
  [''],
  [' '],
  ['tomorrow'],
  ['-5m'],
  ['1e9'],
  ['0x10'],
  ['5 m'],
  ['5m5'],
  ['1.5h'],
  ['2026-01-15'],
  ['2026-01-15T12:00:30'],
  ['2026-02-30T12:00:00Z'],
  ['2026-13-01T12:00:00Z'],
  ['2026-01-15T24:00:00Z'],
  ['2026-01-15T12:00:60Z'],
  ['2026-01-15T12:00:00+15:00'],
  ['Thu, 15 Jan 2026 12:02:00 GMT'],
  ['NaN'],
  ['Infinity'],
  ['99999999999999999999'],
])('%j is no instant', (text) => {
  expect(read(text)).toBe('invalid');
});

test.each(['0', '5', '2026', '99999'])('%s is an epoch of 1970, neither a duration nor a year', (text) => {
  expect(read(text)).toBe(Number(text) * 1_000 - NOW);
});
