import { expect, test } from 'vitest';
import { hopHeaders } from './hop-headers.ts';

const headers = {
  'User-Agent': 'Holdoff/1',
  'accept-language': 'en',
  Authorization: 'Bearer secret',
  cookie: 'id=secret',
  'x-api-key': 'secret',
  'X-Whatever-They-Call-It': 'secret',
  'if-none-match': '"v1"',
};

test.each([
  ['another host', 'https://b.test/x'],
  ['a subdomain', 'https://www.a.test/x'],
  ['another port', 'https://a.test:8443/x'],
  ['without TLS', 'http://a.test/x'],
])('%s gets only what any server may know', (_, hop) => {
  expect(hopHeaders(headers, 'https://a.test/', hop)).toEqual({
    'User-Agent': 'Holdoff/1',
    'accept-language': 'en',
  });
});

test('the same origin gets everything but the conditions on the first page', () => {
  const { 'if-none-match': _, ...rest } = headers;
  expect(hopHeaders(headers, 'https://a.test/x', 'https://a.test:443/y')).toEqual(rest);
});
