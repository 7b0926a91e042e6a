import { describe, expect, test } from 'vitest';
import { DATA_BYTES_MAX, FOLLOW_MAX_PER_PAGE, readVerdict } from './handler-verdict.ts';

describe('what a handler may return', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  test.each([
    ['useful, nothing else', { kind: 'useful' }, { kind: 'useful', data: null, follow: [] }],
    [
      'data',
      { kind: 'useful', data: { a: [1, null] } },
      { kind: 'useful', data: '{"a":[1,null]}', follow: [] },
    ],
    ['data that is false', { kind: 'useful', data: false }, { kind: 'useful', data: 'false', follow: [] }],
    ['no data by name', { kind: 'useful', data: null }, { kind: 'useful', data: null, follow: [] }],
    ['URLs', { kind: 'useful', follow: ['/a'] }, { kind: 'useful', data: null, follow: ['/a'] }],
    ['a name more', { kind: 'useful', more: 1 }, { kind: 'useful', data: null, follow: [] }],
    ['not useful', { kind: 'not_useful' }, { kind: 'not_useful', reason: '' }],
    ['not useful, why', { kind: 'not_useful', reason: 'sold' }, { kind: 'not_useful', reason: 'sold' }],
  ])('%s', (_, returned, verdict) => expect(readVerdict(returned)).toEqual(verdict));

  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a string', 'useful', 'string'],
    ['a function', () => ({ kind: 'useful' }), 'function'],
    ['another kind', { kind: 'Useful' }, '`kind`'],
    ['no kind', { data: 1 }, '`kind`'],
    ['a reason that is no string', { kind: 'not_useful', reason: 7 }, '`reason`'],
    ['URLs that are no array', { kind: 'useful', follow: 'https://a.test/' }, '`follow`'],
    ['URLs that are no strings', { kind: 'useful', follow: [new URL('https://a.test/')] }, '`follow`'],
    ['too many URLs', { kind: 'useful', follow: Array(FOLLOW_MAX_PER_PAGE + 1).fill('/') }, 'at most 100'],
    ['a URL without end', { kind: 'useful', follow: ['x'.repeat(8_193)] }, '8192'],
    ['data that is a function', { kind: 'useful', data: () => 1 }, '`data`'],
    ['data that goes in circles', { kind: 'useful', data: cycle }, 'cannot be read'],
    ['data with a BigInt', { kind: 'useful', data: { n: 1n } }, 'cannot be read'],
    [
      'too much data',
      { kind: 'useful', data: 'ü'.repeat(DATA_BYTES_MAX / 2) },
      `${DATA_BYTES_MAX + 2} bytes`,
    ],
    [
      'a trap',
      {
        get kind() {
          throw new Error('trap');
        },
      },
      'trap',
    ],
  ])('%s is refused with the reason', (_, returned, part) => {
    const verdict = readVerdict(returned);
    expect(verdict).toMatchObject({ kind: 'bad', fault: expect.stringContaining(part) as string });
  });

  test('as many URLs and as much data as allowed', () => {
    const follow = Array<string>(FOLLOW_MAX_PER_PAGE).fill('/');
    expect(readVerdict({ kind: 'useful', follow, data: 'x'.repeat(DATA_BYTES_MAX - 2) }).kind).toBe('useful');
  });
});
