import { describe, expect, test } from 'vitest';
import { duration, type Field, instant, integer, listOf, number, oneOf, rate, size, text } from './field.ts';

describe('bounds are part of the range, and what is outside is refused', () => {
  test.for([
    ['duration', duration('', { min: '1s', max: '5m' }), ['999ms', '5.001m'], ['1s', '5m']],
    ['size', size('', { min: '1KiB', max: '1MiB' }), ['1023B', '1025KiB'], ['1KiB', '1MiB']],
    ['rate', rate('', { min: '1/m', max: '10/s' }), ['59/h', '10.1/s'], ['1/m', '10/s']],
    ['integer', integer('', 1, 10), [0, 11, 1.5, '5', null], [1, 10]],
    ['number', number('', 0.5, 2), [0.49, 2.01, '1', Number.NaN], [0.5, 2]],
  ] as const satisfies readonly (readonly [
    string,
    Field<unknown>,
    readonly unknown[],
    readonly unknown[],
  ])[])('%s', ([, field, outside, inside]) => {
    for (const value of outside) expect([value, field.read(value)]).toEqual([value, undefined]);
    for (const value of inside) expect([value, field.read(value)]).not.toEqual([value, undefined]);
  });
});

describe('texts and lists', () => {
  test('a text follows its grammar', () => {
    const name = text('', 'a name', '^[a-z]+$');
    expect([name.read('pool'), name.read('po ol'), name.read(7)]).toEqual(['pool', undefined, undefined]);
  });

  test('a list has a number of items, each of its own form, and is frozen', () => {
    const list = listOf('', oneOf('', ['a', 'b']), 1, 2);
    expect([list.read([]), list.read(['a', 'b', 'a']), list.read(['c']), list.read('a')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(Object.isFrozen(list.read(['a']))).toBe(true);
  });
});

describe('instants', () => {
  test.for([
    ['2027-03-31', '2027-03-31'],
    ['2027-03-31T12:00Z', '2027-03-31T12:00Z'],
    ['2027-03-31T12:00:30Z', '2027-03-31T12:00:30.000Z'],
    ['2027-03-31T12:00+02:00', '2027-03-31T10:00Z'],
    ['2028-02-29', '2028-02-29'],
  ] as const)('%s is printed as %s', ([written, printed]) => {
    const field = instant('');
    const value = field.read(written);
    expect(value === undefined ? value : field.print(value)).toBe(printed);
  });

  test.for(['2027-02-29', '2027-13-01', '2027-03-31T12:00', '2027-03-31T25:00Z', '31.3.2027', 1, ''])(
    '%j is refused',
    (written) => {
      expect(instant('').read(written)).toBeUndefined();
    },
  );
});
