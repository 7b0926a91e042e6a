import { expect, test } from 'vitest';
import { judgeJob } from './judge-job.ts';

const good = { data: '{"v":1}', opts: '{"attempts":1}', progress: '0', parent: null };

test.each([
  ['as we add it', good],
  ['absent and empty fields', { data: null, opts: '', progress: null, parent: null }],
  ['data that only we will refuse', { ...good, data: '[[[["deep"]]]]' }],
  ['odd options', { ...good, opts: '{"attempts":1e9,"backoff":{"type":"evil"}}' }],
  ['options that are no object', { ...good, opts: '7' }],
  ['a parent', { ...good, parent: '{"id":"x"}' }],
])('%s can be picked up', (_, raw) => {
  expect(judgeJob(raw)).toBeNull();
});

test.each([
  ['data_unreadable', { ...good, data: '{bad' }],
  ['data_unreadable', { ...good, data: 'NaN' }],
  ['data_unreadable', { ...good, data: '\u0000' }],
  ['opts_unreadable', { ...good, opts: '{"a":}' }],
  ['opts_unreadable', { ...good, opts: ' null ' }],
  ['progress_unreadable', { ...good, progress: 'half' }],
  ['parent_unreadable', { ...good, parent: '{' }],
])('%s: nobody can pick it up', (reason, raw) => {
  expect(judgeJob(raw)).toBe(reason);
});
