import { expect, test } from 'vitest';
import { redactText } from './redact-text.ts';

const CANARIES = ['p%40ss', 'p@ss', 's3/cret', 'K1VALUE', 'hunter2', 'QmFzaWM'];

test.each([
  ['http://user:p%40ss@proxy.test:8080'],
  ['http://user:p@ss@proxy.test:8080/x'],
  ['http://user:s3/cret@proxy.test:99999'],
  ['redis://:hunter2@redis:6379/0'],
  ['rediss://default:hunter2@10.0.0.1:6379'],
  ['http://user:33/hunter2@proxy'],
  ['connect to "http://u:hunter2@a.test/" failed'],
  ['http://a.test/?api_key=K1VALUE&x=1'],
  ['http://a.test/?x=1&X-Amz-Signature=K1VALUE'],
  ['http://a.test/?access%5Ftoken=K1VALUE'],
  ['http://a.test/#access_token=K1VALUE'],
  ['/callback?code=K1VALUE&state=s'],
  ['Authorization: Bearer QmFzaWM'],
  ['proxy-authorization: Basic QmFzaWM'],
  ['{"password":"hunter2"}'],
  ['cookie: sid=hunter2'],
  ['x-api-key=K1VALUE'],
  ['two http://u:hunter2@a.test/ and http://v:p%40ss@b.test/'],
])('no secret is left of %s', (text) => {
  const shown = redactText(text);
  for (const canary of CANARIES) expect(shown).not.toContain(canary);
  expect(shown).toContain('[redacted]');
});

test.each([
  ['https://medium.test/@user/post'],
  ['http://a.test/Product/ABC?page=2&sort=up'],
  ['http://a.test:8080/@x'],
  ['mail someone@example.test about 429s'],
  ['host a.test waits until 2026-01-15T12:00:00Z (cooldown)'],
])('%s is left as it is', (text) => {
  expect(redactText(text)).toBe(text);
});

test('a long text costs no more than linear time', () => {
  for (const text of [
    'http://'.repeat(20_000),
    'a@'.repeat(50_000),
    '?key='.repeat(50_000),
    `http://${'@'.repeat(100_000)}`,
  ]) {
    const started = performance.now();
    redactText(text);
    expect(performance.now() - started).toBeLessThan(1_000);
  }
});
