import { expect, test } from 'vitest';
import { BUCKET_RESET, EXPLICIT_WAITS, RESETS, waitScopeOf } from './read-server-wait.ts';
import { parseRetryAfterLenient, parseRetryAfterStrict } from './retry-after.ts';
import { tableBetweenMarks } from '../testing/docs-table.ts';

const PAGE = 'reading-waits.md';
const NOON = Date.UTC(2026, 5, 15, 12);

/** What stands in code marks. */
function quoted(cell = ''): readonly string[] {
  return [...cell.matchAll(/`(?<text>[^`]+)`/gu)].map((match) => match.groups?.['text'] ?? '');
}

test('the headers stand in the order in which they are asked', () => {
  const documented = new Map<string, string[]>();
  for (const [order = '', headers] of tableBetweenMarks(PAGE, 'order')) {
    const group = documented.get(order) ?? [];
    documented.set(order, [...group, ...quoted(headers).map((name) => name.toLowerCase())].toSorted());
  }
  const asked = [
    ['retry-after'],
    ...EXPLICIT_WAITS.map((group) => group.map(([name]) => name)),
    ['ratelimit'],
    ...RESETS.map((group) => group.map(([name]) => name)),
    [`${BUCKET_RESET}<bucket>`],
  ];
  expect([...documented.values()]).toEqual(asked.map((group) => group.toSorted()));
});

test('the statuses are those on which waits bind', () => {
  const scopes = tableBetweenMarks(PAGE, 'statuses').map(([statuses = '']) => statuses);
  expect(scopes).toEqual(['429', '403, 408, 413, 5xx', '3xx except 304', 'anything else']);
  const named = (text: string): readonly number[] =>
    text.split(', ').flatMap((part) => (part === '5xx' ? [500, 503, 599] : [Number(part)]));
  expect(named('403, 408, 413, 5xx').map(waitScopeOf)).toEqual(Array.from({ length: 6 }, () => 'exhausted'));
  expect([429, 302, 304, 200, 404].map(waitScopeOf)).toEqual([
    'throttle',
    'redirect',
    'none',
    'none',
    'none',
  ]);
});

test('every value that is said to be read is read as it says', () => {
  const [numbers = [], labelled = []] = tableBetweenMarks(PAGE, 'read');
  for (const [values, results = ''] of [numbers, labelled]) {
    const seconds = results.replace(' s', '').split(', ').map(Number);
    const read = quoted(values).map((value) =>
      parseRetryAfterLenient({ lines: [value], receivedAtMs: NOON }),
    );
    expect(read.map((reading) => (reading.kind === 'delay' ? reading.seconds : reading.kind))).toEqual(
      seconds,
    );
  }
  const [whole = '', minute = ''] = quoted(tableBetweenMarks(PAGE, 'read')[4]?.[0]);
  expect(parseRetryAfterLenient({ lines: [whole], receivedAtMs: NOON })).toMatchObject({ seconds: 30 });
  expect(parseRetryAfterLenient({ lines: [minute], receivedAtMs: NOON })).toMatchObject({ seconds: 60 });
});

test('every value that is said to be no usable wait is none, to either parser', () => {
  const values = tableBetweenMarks(PAGE, 'unread').flatMap(([cell]) => quoted(cell));
  expect(values.length).toBeGreaterThan(10);
  for (const value of values) {
    const line = value.replace('…', 'Mon, 15 Jun 2026');
    const field = { lines: [line], receivedAtMs: NOON };
    expect([line, parseRetryAfterStrict(field).kind, parseRetryAfterLenient(field).kind]).toEqual([
      line,
      'malformed',
      'malformed',
    ]);
  }
});
