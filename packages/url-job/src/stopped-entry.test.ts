import { expect, test } from 'vitest';
import { type StoppedEntry, readStoppedEntry, stoppedFields } from './stopped-entry.ts';

const ENTRY: StoppedEntry = {
  key: 'j_abcdefgh.2',
  job: 'j_abcdefgh',
  url: 'https://a.test/1?q=%20',
  batch: 'nightly',
  host: 'a.test',
  reason: 'deadline',
  status: 429,
  detail: '429 Too Many Requests; the next attempt could not end before the deadline',
  attempts: 2,
  at: '2026-01-15T12:00:00.000Z',
  method: 'HEAD',
  priority: 7,
  headersRef: 'partner',
};

test.each<StoppedEntry>([
  ENTRY,
  { ...ENTRY, method: 'GET', reads: 'sitemap' },
  { ...ENTRY, headersRef: null, status: 0, attempts: 0, detail: '' },
])('what is written is read back', (entry) => {
  expect(readStoppedEntry(stoppedFields(entry))).toEqual(entry);
});

test('a long detail is cut, also within a pair of surrogates', () => {
  const read = readStoppedEntry(stoppedFields({ ...ENTRY, detail: `${'x'.repeat(299)}😀` }));
  expect(read?.detail).toBe(`${'x'.repeat(299)}\uFFFD`);
});

test.each(['url', 'job', 'batch', 'reason', 'status', 'attempts', 'priority', 'method', 'at', 'host', 'key'])(
  'an entry without %s is not one of ours',
  (name) => {
    const fields = [...stoppedFields(ENTRY)];
    fields.splice(fields.indexOf(name), 2);
    expect(readStoppedEntry(fields)).toBeUndefined();
  },
);

test('anything else in the stream is passed over', () => {
  expect(readStoppedEntry([])).toBeUndefined();
  expect(readStoppedEntry(['url'])).toBeUndefined();
  expect(readStoppedEntry(['method', 'POST', 'url', 'x'])).toBeUndefined();
});
