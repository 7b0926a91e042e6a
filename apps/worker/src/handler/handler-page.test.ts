import { expect, test } from 'vitest';
import { handlerInput } from './handler-page.ts';

const text = (body: Uint8Array, contentType: string | null): string =>
  handlerInput({ url: '', finalUrl: '', status: 200, headers: {}, contentType, body }).text();
const latin1 = (value: string): Buffer => Buffer.from(value, 'latin1');

test.each([
  ['UTF-8 when nobody says anything', Buffer.from('grün'), null],
  ['the header', latin1('grün'), 'text/html; charset=ISO-8859-1'],
  ['the header, quoted', latin1('grün'), 'text/html; charset="windows-1252"'],
  ['UTF-8 for a name that is none', Buffer.from('grün'), 'text/html; charset=nonsense'],
  ['a mark wins over the header', Buffer.from('\uFEFFgrün'), 'text/html; charset=iso-8859-1'],
  ['UTF-16 by its mark', Buffer.from('\uFEFFgrün', 'utf16le'), null],
])('text: %s', (_, body, contentType) => expect(text(body, contentType)).toBe('grün'));

test('text: the page names its own character set where the header does not', () => {
  expect(text(latin1('<meta charset=latin1>grün'), 'text/html')).toContain('grün');
  expect(text(latin1('<meta http-equiv=x content="text/html; charset=iso-8859-1">grün'), null)).toContain(
    'grün',
  );
  expect(text(Buffer.from('<meta charset="latin1">grün'), 'text/html; charset=utf-8')).toContain('grün');
});
