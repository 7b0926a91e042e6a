import { expect, test } from 'vitest';
import type { RetryAfterForm } from './description.ts';
import { publishWait } from './retry-after-form.ts';

const NOW = Date.parse('2026-06-15T12:00:00.250Z');

test.each<[RetryAfterForm, number, readonly (readonly [string, string])[], number | null]>([
  [{ form: 'seconds' }, 1, [['Retry-After', '1']], 1_000],
  [{ form: 'seconds' }, 1_000, [['Retry-After', '1']], 1_000],
  [{ form: 'seconds' }, 1_001, [['Retry-After', '2']], 2_000],
  [{ form: 'seconds' }, 0, [['Retry-After', '0']], 0],
  [{ form: 'fixed', seconds: 30 }, 1, [['Retry-After', '30']], 30_000],
  [{ form: 'http_date' }, 1_000, [['Retry-After', 'Mon, 15 Jun 2026 12:00:02 GMT']], 1_750],
  [{ form: 'http_date' }, 750, [['Retry-After', 'Mon, 15 Jun 2026 12:00:01 GMT']], 750],
  [{ form: 'float' }, 1_500.2, [['Retry-After', '1.501']], 1_501],
  [{ form: 'milliseconds' }, 1_500.2, [['Retry-After', '1501']], 1_501],
  [{ form: 'epoch_seconds' }, 1_000, [['Retry-After', '1781524802']], 1_750],
  [
    { form: 'duplicate' },
    2_100,
    [
      ['Retry-After', '1'],
      ['Retry-After', '3'],
    ],
    3_000,
  ],
  [{ form: 'garbage', value: 'soon' }, 1_000, [['Retry-After', 'soon']], null],
  [{ form: 'absent' }, 1_000, [], null],
  [{ form: 'ratelimit' }, 1_001, [['RateLimit', '"default";r=0;t=2']], 2_000],
  [
    { form: 'ratelimit_reset' },
    1_001,
    [
      ['RateLimit-Remaining', '0'],
      ['RateLimit-Reset', '2'],
    ],
    2_000,
  ],
  [
    { form: 'x_ratelimit_reset_epoch' },
    1_000,
    [
      ['X-RateLimit-Remaining', '0'],
      ['X-RateLimit-Reset', '1781524802'],
    ],
    1_750,
  ],
  [
    { form: 'x_ratelimit_reset_epoch_ms' },
    1_000,
    [
      ['X-RateLimit-Remaining', '0'],
      ['X-RateLimit-Reset', '1781524801250'],
    ],
    1_000,
  ],
])('%j of %d ms', (form, waitMs, headers, published) => {
  const written = publishWait(form, waitMs, NOW);
  expect(written.headers).toEqual(headers);
  expect(written.waitMs).toBe(published);
});

test('no form that names a wait publishes less than the limiter means', () => {
  const forms: RetryAfterForm[] = [
    ...(['seconds', 'http_date', 'float', 'milliseconds', 'epoch_seconds', 'duplicate'] as const),
    ...(['ratelimit', 'ratelimit_reset', 'x_ratelimit_reset_epoch', 'x_ratelimit_reset_epoch_ms'] as const),
  ].map((form) => ({ form }));
  for (const form of forms) {
    for (const waitMs of [0.1, 1, 249.9, 749.9, 750, 999, 1_000, 1_000.5, 59_999.999]) {
      expect(publishWait(form, waitMs, NOW).waitMs, `${form.form} ${waitMs}`).toBeGreaterThanOrEqual(waitMs);
    }
  }
});
