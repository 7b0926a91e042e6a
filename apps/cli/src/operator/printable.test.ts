import { expect, test } from 'vitest';
import { counted } from './counted.ts';
import { printable } from './printable.ts';

test.each([
  ['plain ü 日本', 'plain ü 日本'],
  ['a\u001B[31mb', 'a\uFFFD[31mb'],
  ['a\u0000\u0007\r\nb', 'a\uFFFD\uFFFD\uFFFD\uFFFDb'],
  ['a\u009Bb\u202Ec', 'a\uFFFDb\uFFFDc'],
])('%j is printed as %j', (text, shown) => expect(printable(text)).toBe(shown));

test.each([
  [0, '0 attempts'],
  [1, '1 attempt'],
  [2, '2 attempts'],
  [12_345, '12,345 attempts'],
])('%d is counted as %s', (count, shown) => expect(counted(count, 'attempt')).toBe(shown));
