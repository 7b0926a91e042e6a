import { webUrl, assert, property, string } from 'fast-check';
import { expect, test } from 'vitest';
import { safeUrl } from './safe-url.ts';

test.each([
  ['https://u:p@a.test/x?api_key=K1&page=2#token=K2', 'https://a.test/x?api_key&page'],
  ['https://a.test:8443/x/y', 'https://a.test:8443/x/y'],
  ['https://a.test/?aGVsbG8gd29ybGQ', 'https://a.test/?…'],
  ['https://a.test/?a=1&a=2', 'https://a.test/?a'],
  ['http://user:s3/cret@proxy.test:99999', '[no URL]'],
  ['data:text/html,secret', '[no URL]'],
  ['', '[no URL]'],
])('%s is shown as %s', (url, shown) => {
  expect(safeUrl(url)).toBe(shown);
});

test('is bounded', () => {
  const query = Array.from({ length: 5_000 }, (_, i) => `${'k'.repeat(100)}${i}=v`).join('&');
  expect(safeUrl(`https://a.test/${'p'.repeat(8_000)}?${query}`).length).toBeLessThan(1_500);
});

test('never shows a value, whatever the URL', () => {
  assert(
    property(webUrl(), string({ minLength: 1 }), (url, key) => {
      const target = new URL(url);
      target.username = 'CANARY1';
      target.password = 'CANARY2';
      target.searchParams.set(key, 'CANARY3');
      target.hash = 'CANARY4';
      expect(safeUrl(target.href)).not.toContain('CANARY');
    }),
  );
});
