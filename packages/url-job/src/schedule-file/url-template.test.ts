import { expect, test } from 'vitest';
import { parseUrlTemplate } from './url-template.ts';

const urls = (text: string): string[] => {
  const parsed = parseUrlTemplate(text);
  if (parsed.kind === 'invalid') throw new Error(parsed.rule);
  const all = [...parsed.template.expand('2026-01-15')];
  expect(parsed.template.count).toBe(all.length);
  return all;
};

test.each<[string, string[]]>([
  ['https://a.test/', ['https://a.test/']],
  ['https://a.test/{date}.json', ['https://a.test/2026-01-15.json']],
  ['https://a.test/{9..11}', ['https://a.test/9', 'https://a.test/10', 'https://a.test/11']],
  ['https://a.test/{7..7}', ['https://a.test/7']],
  ['https://a.test/{08..10}', ['https://a.test/08', 'https://a.test/09', 'https://a.test/10']],
  ['https://a.test/{0..2}', ['https://a.test/0', 'https://a.test/1', 'https://a.test/2']],
  [
    'https://a.test/?o={0..100..50}',
    ['https://a.test/?o=0', 'https://a.test/?o=50', 'https://a.test/?o=100'],
  ],
  ['https://a.test/?o={1..10..4}', ['https://a.test/?o=1', 'https://a.test/?o=5', 'https://a.test/?o=9']],
  [
    'https://{1..2}.a.test/{date}/{1..2}?d={date}',
    [
      'https://1.a.test/2026-01-15/1?d=2026-01-15',
      'https://1.a.test/2026-01-15/2?d=2026-01-15',
      'https://2.a.test/2026-01-15/1?d=2026-01-15',
      'https://2.a.test/2026-01-15/2?d=2026-01-15',
    ],
  ],
  ['https://a.test/%7B1..2%7D', ['https://a.test/%7B1..2%7D']],
])('%s', (text, expected) => expect(urls(text)).toEqual(expected));

test.each([
  ['https://a.test/{day}', /^has \{day\}; a placeholder is/],
  ['https://a.test/{}', /^has \{\}/],
  ['https://a.test/{5..1}', /must count upwards/],
  ['https://a.test/{1..5..0}', /step must be 1 or more/],
  ['https://a.test/{-1..5}', /^has \{-1\.\.5\}/],
  ['https://a.test/{a..c}', /^has \{a\.\.c\}/],
  ['https://a.test/{1..1e3}', /^has/],
  ['https://a.test/{1..9999999999}', /^has/],
  ['https://a.test/{{1..2}}', /brace without its other one/],
  ['https://a.test/{1..2', /brace without its other one/],
  ['https://a.test/1..2}', /brace without its other one/],
  ['https://a.test/{1..100001}', /more than 100000 URLs/],
  ['https://a.test/{1..1000}/{1..101}', /more than 100000 URLs/],
  [`https://a.test/${'{1..999999999}'.repeat(50)}`, /more than 100000 URLs/],
])('%s is refused', (text, rule) => {
  const parsed = parseUrlTemplate(text);
  expect(parsed.kind === 'invalid' ? parsed.rule : 'taken').toMatch(rule);
});

test('what it stands for comes one by one, up to the most', () => {
  expect(urls('https://a.test/{1..1000}/{1..100}').at(-1)).toBe('https://a.test/1000/100');
});
