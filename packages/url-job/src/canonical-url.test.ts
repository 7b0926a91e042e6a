import { assert, oneof, property, string, webUrl } from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalUrl } from './canonical-url.ts';

const one = (input: string): string => {
  const result = canonicalUrl(input);
  return result.kind === 'ok' ? result.value.url : `invalid: ${result.fault.rule}`;
};

test.each([
  ['HTTP://EXAMPLE.test/a', 'http://example.test/a'],
  ['http://example.test', 'http://example.test/'],
  ['http://example.test/#x', 'http://example.test/'],
  ['http://example.test:80/./', 'http://example.test/'],
  ['https://example.test:443/a/../b', 'https://example.test/b'],
  ['http://example.test:8080/', 'http://example.test:8080/'],
  ['http://example.test./', 'http://example.test/'],
  ['http://exampl%65.test/', 'http://example.test/'],
  ['http://bücher.test/ü?q=ü', 'http://xn--bcher-kva.test/%C3%BC?q=%C3%BC'],
  ['http://[2001:DB8::1]:80/', 'http://[2001:db8::1]/'],
  ['http://2130706433/', 'http://127.0.0.1/'],
  ['  http://example.test/a  ', 'http://example.test/a'],
  ['http://a_b.example.test/', 'http://a_b.example.test/'],
])('%s is written %s', (input, canonical) => {
  expect(one(input)).toBe(canonical);
});

test.each([
  ['http://a.test/Product/ABC', 'http://a.test/product/abc'],
  ['http://a.test/?token=SeCrEt', 'http://a.test/?token=secret'],
  ['http://a.test/?a=1&b=2', 'http://a.test/?b=2&a=1'],
  ['http://a.test/a%2Cb', 'http://a.test/a%2cb'],
  ['http://a.test/', 'https://a.test/'],
  ['http://a.test/', 'http://a.test:8080/'],
])('%s and %s are two pages', (left, right) => {
  expect(one(left)).not.toBe(one(right));
});

test.each([
  ['', 'absolute'],
  ['example.test/a', 'absolute'],
  ['//example.test/a', 'absolute'],
  ['http://', 'absolute'],
  ['http://256.1.1.1/', 'absolute'],
  ['http://[::bad', 'absolute'],
  ['file:///etc/passwd', 'http or https'],
  ['gopher://127.0.0.1:6379/_FLUSHALL', 'http or https'],
  ['unix:/var/run/docker.sock:/info', 'http or https'],
  ['javascript:alert(1)', 'http or https'],
  ['http://user@example.test/', 'no user'],
  ['http://:secret@example.test/', 'no user'],
  ['http://1.1.1.1 &@2.2.2.2# @3.3.3.3/', 'no user'],
  ['http://127.0.0.1%2f@example.com/', 'no user'],
  ['http://example.test:0/', 'port'],
  ['http://a..b/', 'host'],
  ['http://example.test../', 'host'],
  ['http://./', 'host'],
  ['http://-a.test/', 'host'],
  ['http://xn--/', 'host'],
  ['http://{holdoff}.test/', 'host'],
  [`http://${'a'.repeat(64)}.test/`, 'host'],
  [`http://${'a.'.repeat(127)}ab/`, 'host'],
  ['http://exa\nmple.test/', 'control'],
  ['http://example.test/\u0000', 'control'],
  ['http://example.test/\uD800', 'UTF-8'],
  [`http://example.test/${'a'.repeat(100_000)}`, '8192 bytes'],
  [`http://example.test/${'ü'.repeat(4_000)}`, 'once escaped'],
])('%j is refused: %s', (input, rule) => {
  expect(one(input)).toMatch(/^invalid: /);
  expect(one(input)).toContain(rule);
});

test.each([[undefined], [null], [42], [{}], [['http://a.test/']]])('%j is not a URL', (input) => {
  expect(canonicalUrl(input)).toMatchObject({
    kind: 'invalid',
    fault: { field: 'url', rule: 'must be a string' },
  });
});

test('a fault shows the value without its secrets and not at full length', () => {
  const result = canonicalUrl(`http://u:p%40ss@a.test/?api_key=K1&q=${'x'.repeat(500)}`);
  const shown = JSON.stringify(result);
  expect(shown).not.toMatch(/p%40ss|K1/);
  expect(shown.length).toBeLessThan(400);
  expect(shown).toContain('a.test');
});

test('never throws, and the canonical form is its own canonical form', () => {
  const text = string();
  const url = oneof(
    webUrl({ withQueryParameters: true, withFragments: true }),
    string({ unit: 'binary' }),
    text.map((rest) => `http://${rest}`),
  );
  let canonical = 0;
  assert(
    property(url, (input) => {
      const first = canonicalUrl(input);
      if (first.kind === 'invalid') return;
      canonical += 1;
      expect(canonicalUrl(first.value.url)).toEqual(first);
    }),
    { numRuns: 2_000 },
  );
  expect(canonical).toBeGreaterThan(500);
});
