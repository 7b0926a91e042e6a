import { expect, test } from 'vitest';
import { productTokenOf } from './product-token.ts';

test.each([
  ['Holdoff/0.1 (+https://github.com/holdoff/holdoff)', 'Holdoff'],
  ['AcmeBot/1.0', 'AcmeBot'],
  ['acme_price-watch', 'acme_price-watch'],
  ['Mozilla/5.0 (compatible; AcmeBot/2.1; +https://acme.example/bot)', 'AcmeBot'],
  ['Mozilla/5.0 (Compatible;AcmeBot)', 'AcmeBot'],
  ['2bot/1.0', null],
  ['(+https://acme.example)', null],
])('%s is known as %s', (userAgent, token) => {
  expect(productTokenOf(userAgent)).toBe(token);
});
