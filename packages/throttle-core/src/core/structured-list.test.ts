import { describe, expect, test } from 'vitest';
import { parseDictionary, parseNamedList } from './structured-list.ts';

function list(line: string): unknown {
  return parseNamedList(line)?.map(({ name, parameters }) => [name, Object.fromEntries(parameters)]);
}

function dictionary(line: string): unknown {
  const entries = parseDictionary(line);
  return entries === undefined ? undefined : Object.fromEntries(entries);
}

describe('a list of named items', () => {
  test.each([
    ['"a"', [['"a"', {}]]],
    ['"a";r=0;t=30', [['"a"', { r: 0, t: 30 }]]],
    ['"a"; r=0;  t=30', [['"a"', { r: 0, t: 30 }]]],
    [
      '"a";r=0 , \t"b";r=1',
      [
        ['"a"', { r: 0 }],
        ['"b"', { r: 1 }],
      ],
    ],
    ['default;r=5', [['default', { r: 5 }]]],
    ['"with \\"quotes\\" and \\\\";r=5', [['"with \\"quotes\\" and \\\\"', { r: 5 }]]],
    ['"a;r=9";r=5', [['"a;r=9"', { r: 5 }]]],
    ['"a";pk=:YWJj:;r=5', [['"a"', { pk: undefined, r: 5 }]]],
    [
      '"a";x=tok/en:1;y="s";z=?1;d=@1781524830;f=1.5;u=%"%c3%a4";r=-1',
      [
        [
          '"a"',
          { x: undefined, y: undefined, z: undefined, d: undefined, f: undefined, u: undefined, r: -1 },
        ],
      ],
    ],
    ['"a";flag;r=5', [['"a"', { flag: undefined, r: 5 }]]],
    ['"a";r=1;r=2', [['"a"', { r: 2 }]]],
    ['"a";r=999999999999999', [['"a"', { r: 999_999_999_999_999 }]]],
  ])('%s', (line, expected) => {
    expect(list(line)).toEqual(expected);
  });

  test.each([
    '',
    '"a',
    '"a\\x"',
    '"a",',
    ',"a"',
    '"a" "b"',
    '"a";',
    '"a";R=1',
    '"a";r=',
    '"a";r=1x',
    '1;r=0',
    '"a";r=1000000000000000',
    '"a";r=1.2345',
    '"é"',
    '"a"\t;;r=1',
    'limit=100',
  ])('%j is none', (line) => {
    expect(list(line)).toBeUndefined();
  });
});

describe('a dictionary of integers', () => {
  test.each([
    ['limit=100, remaining=0, reset=30', { limit: 100, remaining: 0, reset: 30 }],
    ['limit=100;w=60, remaining=5,reset=30', { limit: 100, remaining: 5, reset: 30 }],
    ['a=1, a=2', { a: 2 }],
    ['a=1.5, b="x"', { a: undefined, b: undefined }],
  ])('%s', (line, expected) => {
    expect(dictionary(line)).toEqual(expected);
  });

  test.each(['', 'a', 'a=', 'a=1,', 'a=1 b=2', 'A=1', '"a";r=0'])('%j is none', (line) => {
    expect(dictionary(line)).toBeUndefined();
  });
});

test('a long list is read in time that grows with its length', () => {
  const line = Array.from({ length: 20_000 }, (_, index) => `"q${index}";r=${index};t=60`).join(', ');
  expect(parseNamedList(line)).toHaveLength(20_000);
  expect(parseNamedList(`${line},`)).toBeUndefined();
});
