import { expect, test } from 'vitest';
import { enterUrl } from './enter-url.ts';
import { parseInboxEntry } from './inbox-entry.ts';
import { isUrlJobId } from './job-id.ts';

const NOW = Date.parse('2026-01-15T12:00:00Z');
const DAY = 86_400_000;

function idOf(url: string, more: { batch?: string; method?: string } = {}): string {
  const entered = enterUrl({ url, ...more }, NOW);
  if (entered.kind === 'invalid') throw new Error(entered.fault.rule);
  return entered.value.id;
}

test('spellings of one page in one batch have one id', () => {
  const spellings = [
    'http://example.test',
    'http://example.test/',
    'HTTP://EXAMPLE.test:80/./#top',
    'http://example.test./',
  ];
  expect(new Set(spellings.map((url) => idOf(url))).size).toBe(1);
});

test('another batch, method, path or query is another job', () => {
  const ids = [
    idOf('http://a.test/'),
    idOf('http://a.test/', { batch: 'nightly' }),
    idOf('http://a.test/', { method: 'HEAD' }),
    idOf('http://a.test/A'),
    idOf('http://a.test/a'),
    idOf('http://a.test/?a=1&b=2'),
    idOf('http://a.test/?b=2&a=1'),
    idOf('https://a.test/'),
    idOf('https://a.test:8080/x'),
    idOf('http://[2001:db8::1]/'),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => isUrlJobId(id))).toBe(true);
});

test('ids stay what they are across releases: stored jobs are told apart by them', () => {
  expect(idOf('http://example.test/a', { batch: 'nightly' })).toBe('j_1_7J4LcJl41lRiCoRyjdb_lm');
});

test.each([
  ['batch', { batch: '' }],
  ['batch', { batch: '-a' }],
  ['batch', { batch: 'a b' }],
  ['batch', { batch: '{x}' }],
  ['batch', { batch: 'x'.repeat(65) }],
  ['method', { method: 'POST' }],
  ['method', { method: '' }],
  ['priority', { priority: -1 }],
  ['priority', { priority: 101 }],
  ['priority', { priority: 1.5 }],
  ['priority', { priority: Number.NaN }],
  ['headers', { headersRef: 'a\r\nHost: x' }],
  ['not_before', { notBeforeMs: NOW + 90 * DAY + 1 }],
  ['not_before', { notBeforeMs: NOW - 365 * DAY - 1 }],
  ['not_before', { notBeforeMs: Number.POSITIVE_INFINITY }],
  ['deadline', { deadlineMs: NOW + 366 * DAY }],
  ['deadline', { notBeforeMs: NOW + 2_000, deadlineMs: NOW + 2_000 }],
])('a bad %s is refused by name: %j', (field, more) => {
  expect(enterUrl({ url: 'http://a.test/', ...more }, NOW)).toMatchObject({
    kind: 'invalid',
    fault: { field },
  });
});

test('the limits themselves are accepted', () => {
  for (const notBeforeMs of [NOW + 90 * DAY, NOW - 365 * DAY]) {
    expect(enterUrl({ url: 'http://a.test/', notBeforeMs, priority: 0 }, NOW).kind).toBe('ok');
  }
  expect(enterUrl({ url: 'http://a.test/', priority: 100, batch: 'x'.repeat(64) }, NOW).kind).toBe('ok');
});

test('an inbox entry is read by its fields', () => {
  const fields = ['url', 'http://a.test/', 'batch', 'nightly', 'not_before', '+5m', 'priority', '7'];
  fields.push('method', 'head', 'headers', 'contact', 'deadline', '2026-01-16T00:00:00Z');
  expect(parseInboxEntry(fields, NOW)).toEqual({
    kind: 'ok',
    value: {
      url: 'http://a.test/',
      batch: 'nightly',
      notBeforeMs: NOW + 300_000,
      priority: 7,
      method: 'HEAD',
      headersRef: 'contact',
      deadlineMs: NOW + 12 * 3_600_000,
    },
  });
});

test.each([
  ['url', []],
  ['url', ['batch', 'x']],
  ['url', ['url', 'http://a.test/', 'url', 'http://b.test/']],
  ['column', ['url', 'http://a.test/', 'column', '1']],
  ['__proto__', ['url', 'http://a.test/', '__proto__', '{}']],
  ['constructor', ['constructor', 'x']],
  ['priority', ['url', 'http://a.test/', 'priority', '']],
  ['priority', ['url', 'http://a.test/', 'priority', '1e1']],
  ['priority', ['url', 'http://a.test/', 'priority', '-1']],
  ['not_before', ['url', 'http://a.test/', 'not_before', '']],
  ['deadline', ['url', 'http://a.test/', 'deadline', 'soon']],
])('an entry with a bad %s is refused by name: %j', (field, fields) => {
  expect(parseInboxEntry(fields, NOW)).toMatchObject({ kind: 'invalid', fault: { field } });
});
