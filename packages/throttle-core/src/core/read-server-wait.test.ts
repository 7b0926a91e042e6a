import { describe, expect, test } from 'vitest';
import {
  isQuotaSpent,
  readServerWait,
  type ResponseHeaders,
  type ServerHints,
  waitReaderOf,
  waitScopeOf,
} from './read-server-wait.ts';
import type { UnitQuirk } from './retry-after.ts';

const NOON = Date.UTC(2026, 0, 15, 12);
const EPOCH = NOON / 1000;

interface Asked {
  readonly status?: number;
  readonly parse?: 'strict' | 'lenient';
  readonly quirk?: UnitQuirk;
}

function hints(
  headers: ResponseHeaders,
  { status = 429, parse = 'lenient', quirk }: Asked = {},
): ServerHints {
  return readServerWait({ status, headers, receivedAtMs: NOON }, { parse, quirk: quirk ?? null });
}

function wait(headers: ResponseHeaders, asked: Asked = {}): string {
  const { wait: hint } = hints(headers, asked);
  switch (hint.kind) {
    case 'absent':
      return 'absent';
    case 'malformed':
      return `${hint.source} ${hint.fault}`;
    case 'delay':
      return `${hint.source} ${hint.seconds}`;
  }
}

describe('the order in which headers are asked', () => {
  const headers = {
    'retry-after': ['10'],
    'retry-after-ms': ['20000'],
    'x-retry-in': ['30s'],
    ratelimit: ['"a";r=0;t=40'],
    'ratelimit-reset': ['50'],
    'x-ratelimit-reset': ['60'],
    'x-ratelimit-reset-requests': ['70s'],
  };

  test('each one counts only where none before it gives a wait', () => {
    const left: Record<string, readonly string[]> = { ...headers };
    const order = Object.keys(headers).map((name) => {
      const answer = wait(left);
      delete left[name];
      return answer;
    });
    expect(order).toEqual([
      'retry-after 10',
      'retry-after-ms 20',
      'x-retry-in 30',
      'ratelimit 40',
      'ratelimit-reset 50',
      'x-ratelimit-reset 60',
      'x-ratelimit-reset-requests 70',
    ]);
    expect(wait(left)).toBe('absent');
  });

  test('a Retry-After that cannot be read gives way; a zero does not', () => {
    expect(wait({ ...headers, 'retry-after': ['soon'] })).toBe('retry-after-ms 20');
    expect(wait({ ...headers, 'retry-after': ['0'] })).toBe('retry-after 0');
  });

  test('within a group the longest wait counts', () => {
    expect(
      wait({ 'retry-after-ms': ['1000'], 'x-ms-retry-after-ms': ['3000'], 'x-amz-retry-after': ['2000'] }),
    ).toBe('x-ms-retry-after-ms 3');
    expect(
      wait({ 'x-ratelimit-reset': ['5'], 'x-rate-limit-reset': ['9'], 'x-ratelimit-reset-after': ['7.5'] }),
    ).toBe('x-rate-limit-reset 9');
    expect(wait({ 'x-ratelimit-next': ['2026-01-15T12:00:30Z'], 'x-ratelimit-reset': ['5'] })).toBe(
      'x-ratelimit-next 30',
    );
  });

  test('where nothing gives a wait, the first thing said wrongly is named', () => {
    expect(wait({ 'retry-after': ['soon'], 'x-ratelimit-reset': ['-5'] })).toBe('retry-after unreadable');
    expect(wait({ 'x-ratelimit-reset': ['-5'] })).toBe('x-ratelimit-reset negative');
    expect(wait({ 'retry-after': [''] })).toBe('retry-after empty');
    expect(wait({ 'retry-after-ms': [''] })).toBe('retry-after-ms empty');
    expect(wait({ 'retry-after-ms': ['soon'] })).toBe('retry-after-ms unreadable');
    expect(wait({ 'x-retry-in': ['-1s'] })).toBe('x-retry-in negative');
    expect(wait({ 'x-ratelimit-reset': [''] })).toBe('x-ratelimit-reset empty');
    expect(wait({ ratelimit: [' '] })).toBe('ratelimit empty');
    expect(wait({ ratelimit: ['r=0'] })).toBe('ratelimit unreadable');
    expect(wait({ 'retry-after': [] })).toBe('absent');
  });

  test('quota that is left is nothing said wrongly', () => {
    expect(wait({ ratelimit: ['"a";r=5;t=30'] })).toBe('absent');
    expect(wait({ ratelimit: ['"a";r=0'] })).toBe('ratelimit no_window');
  });

  test('strict reads Retry-After alone, and by the rules', () => {
    expect(wait(headers, { parse: 'strict' })).toBe('retry-after 10');
    expect(wait({ ...headers, 'retry-after': ['10.5'] }, { parse: 'strict' })).toBe('retry-after not_a_date');
    expect(wait({ ...headers, 'retry-after': ['10', '20'] }, { parse: 'strict' })).toBe(
      'retry-after several_lines',
    );
    expect(wait({ 'retry-after-ms': ['20000'] }, { parse: 'strict' })).toBe('absent');
  });

  test('the delay carries its instant, its form and its clock', () => {
    const headersOfADate = {
      'retry-after': ['Thu, 15 Jan 2026 12:02:00 GMT'],
      date: ['Thu, 15 Jan 2026 11:59:00 GMT'],
    };
    expect(hints(headersOfADate).wait).toEqual({
      kind: 'delay',
      source: 'retry-after',
      seconds: 180,
      untilMs: NOON + 180_000,
      form: 'imf_fixdate',
      basis: 'date_header',
    });
  });

  test('a quirk reaches Retry-After and bare reset numbers', () => {
    expect(wait({ 'retry-after': ['60000'] }, { quirk: 'milliseconds' })).toBe('retry-after 60');
    expect(wait({ 'x-rate-limit-reset': ['600000'] }, { quirk: 'milliseconds' })).toBe(
      'x-rate-limit-reset 600',
    );
    expect(wait({ 'x-rate-limit-reset': [String(EPOCH + 30)] }, { quirk: 'milliseconds' })).toBe(
      'x-rate-limit-reset 30',
    );
  });
});

describe('which statuses a wait binds on', () => {
  test.each([
    [200, 'none'],
    [204, 'none'],
    [299, 'none'],
    [300, 'redirect'],
    [301, 'redirect'],
    [303, 'redirect'],
    [304, 'none'],
    [308, 'redirect'],
    [399, 'redirect'],
    [400, 'none'],
    [401, 'none'],
    [403, 'exhausted'],
    [404, 'none'],
    [408, 'exhausted'],
    [410, 'none'],
    [413, 'exhausted'],
    [425, 'none'],
    [429, 'throttle'],
    [499, 'none'],
    [500, 'exhausted'],
    [503, 'exhausted'],
    [599, 'exhausted'],
    [0, 'none'],
    [100, 'none'],
  ])('%i: %s', (status, scope) => {
    expect(waitScopeOf(status)).toBe(scope);
    const explicit = scope === 'none' ? 'absent' : 'retry-after 60';
    expect(wait({ 'retry-after': ['60'] }, { status })).toBe(explicit);
    const spent = scope === 'throttle' || scope === 'exhausted' ? 'x-ratelimit-reset 60' : 'absent';
    expect(wait({ 'x-ratelimit-reset': ['60'], 'x-ratelimit-remaining': ['0'] }, { status })).toBe(spent);
    const unspent = scope === 'throttle' ? 'x-ratelimit-reset 60' : 'absent';
    expect(wait({ 'x-ratelimit-reset': ['60'], 'x-ratelimit-remaining': ['7'] }, { status })).toBe(unspent);
    expect(wait({ 'x-ratelimit-reset': ['60'] }, { status })).toBe(unspent);
    const window = scope === 'throttle' || scope === 'exhausted' ? 'ratelimit 60' : 'absent';
    expect(wait({ ratelimit: ['"a";r=0;t=60'] }, { status })).toBe(window);
  });

  test('a redirect keeps the waits that Retry-After and its kin name, and no quota', () => {
    expect(wait({ 'retry-after-ms': ['1500'] }, { status: 302 })).toBe('retry-after-ms 2');
    expect(wait({ 'x-retry-in': ['2s'] }, { status: 302 })).toBe('x-retry-in 2');
    expect(wait({ 'ratelimit-reset': ['60'], 'ratelimit-remaining': ['0'] }, { status: 302 })).toBe('absent');
  });
});

describe('several buckets', () => {
  const buckets = { 'x-ratelimit-reset-requests': ['1s'], 'x-ratelimit-reset-tokens': ['6m0s'] };

  test('the spent ones caused the answer', () => {
    const requests = {
      ...buckets,
      'x-ratelimit-remaining-requests': ['0'],
      'x-ratelimit-remaining-tokens': ['5'],
    };
    expect(wait(requests)).toBe('x-ratelimit-reset-requests 1');
    expect(wait(requests, { status: 503 })).toBe('x-ratelimit-reset-requests 1');
    const both = { ...requests, 'x-ratelimit-remaining-tokens': ['0'] };
    expect(wait(both)).toBe('x-ratelimit-reset-tokens 360');
  });

  test('a 429 that names none could be about any: the longest counts', () => {
    expect(wait(buckets)).toBe('x-ratelimit-reset-tokens 360');
    expect(wait(buckets, { status: 503 })).toBe('absent');
  });

  test('reset-after is a span and no bucket of that name', () => {
    expect(wait({ 'x-ratelimit-reset-after': ['64.57'] })).toBe('x-ratelimit-reset-after 65');
    expect(wait({ 'x-ratelimit-reset-after': [String(EPOCH)] })).toBe(`x-ratelimit-reset-after ${EPOCH}`);
  });
});

describe('faults met in the field', () => {
  test.each([
    ['fractional seconds crash the client', '0.503', 'retry-after 1'],
    ['a negative number switches the back-off off', '-5', 'retry-after negative'],
    ['a lone number is read as a calendar year', '1.5.3', 'retry-after unreadable'],
    ['a quoted number is read as the year 120', '"120"', 'retry-after unreadable'],
    ['zero is taken for no header', '0', 'retry-after 0'],
    ['an hour is cut to the client own maximum', '3120', 'retry-after 3120'],
    ['a date that is over gives a negative sleep', 'Wed, 21 Oct 2015 07:28:00 GMT', 'retry-after 0'],
    ['asctime is read in the zone of the machine', 'Thu Jan 15 12:02:00 2026', 'retry-after 120'],
  ])('%s: %s', (_fault, value, expected) => {
    expect(wait({ 'retry-after': [value] })).toBe(expected);
  });

  test.each([
    ['2513', 'x-ratelimit-reset 2513'],
    [String(EPOCH + 30), 'x-ratelimit-reset 30'],
    [`${EPOCH + 30}000`, 'x-ratelimit-reset 30'],
    [String(EPOCH - 10), 'x-ratelimit-reset 0'],
  ])('one reset header, three meanings: %s', (value, expected) => {
    expect(wait({ 'x-ratelimit-reset': [value] })).toBe(expected);
    expect(wait({ 'x-ratelimit-reset': [value], 'x-ratelimit-remaining': ['12'] }, { status: 200 })).toBe(
      'absent',
    );
  });

  test.each([
    [403, ['60'], 'retry-after 60'],
    [403, undefined, 'absent'],
    [200, ['60'], 'absent'],
    [503, undefined, 'absent'],
  ])('a hint is honoured by status and value together: %i with %j', (status, lines, expected) => {
    expect(wait({ 'retry-after': lines }, { status })).toBe(expected);
  });
});

describe('the quota as a ceiling', () => {
  const ceiling = (headers: ResponseHeaders, status = 200): unknown => hints(headers, { status }).rateLimit;

  test('RateLimit with quota left bounds the pace and forces no wait', () => {
    expect(ceiling({ ratelimit: ['"default";r=50;t=30'] })).toEqual({
      remaining: 50,
      windowMs: 30_000,
      untilMs: NOON + 30_000,
    });
    expect(wait({ ratelimit: ['"default";r=50;t=30'] })).toBe('absent');
  });

  test('a spent quota on a served page leaves nothing until its end', () => {
    expect(ceiling({ ratelimit: ['"default";r=0;t=30'] })).toMatchObject({ remaining: 0, windowMs: 30_000 });
  });

  test('of several quotas the tightest counts, and of two alike the longer', () => {
    expect(ceiling({ ratelimit: ['"burst";r=10;t=1, "daily";r=900;t=3600'] })).toMatchObject({
      remaining: 900,
    });
    expect(ceiling({ ratelimit: ['"daily";r=900;t=3600', '"burst";r=10;t=1'] })).toMatchObject({
      remaining: 900,
    });
    expect(ceiling({ ratelimit: ['"a";r=1;t=10, "b";r=2;t=20'] })).toMatchObject({ remaining: 2 });
    expect(ceiling({ ratelimit: ['"b";r=2;t=20, "a";r=1;t=10'] })).toMatchObject({ remaining: 2 });
  });

  test('the drafts before it say the same in other fields', () => {
    expect(ceiling({ ratelimit: ['limit=100, remaining=5, reset=30'] })).toMatchObject({
      remaining: 5,
      windowMs: 30_000,
    });
    expect(ceiling({ 'ratelimit-remaining': [' 5 '], 'ratelimit-reset': ['30'] })).toMatchObject({
      remaining: 5,
      windowMs: 30_000,
    });
    expect(ceiling({ 'ratelimit-remaining': ['5'], 'ratelimit-reset': [String(EPOCH + 30)] })).toMatchObject({
      windowMs: 30_000,
    });
  });

  test.each([
    [{}],
    [{ ratelimit: ['"a";r=5'] }],
    [{ ratelimit: ['"a";r=5;t=0'] }],
    [{ ratelimit: ['"a";r=5;t=-1'] }],
    [{ ratelimit: ['"a";r=-5;t=1'] }],
    [{ ratelimit: ['"a";r=5;t=1.5'] }],
    [{ ratelimit: ['a b c'] }],
    [{ 'ratelimit-remaining': ['5'] }],
    [{ 'ratelimit-reset': ['30'] }],
    [{ 'ratelimit-remaining': ['few'], 'ratelimit-reset': ['30'] }],
    [{ 'ratelimit-remaining': ['5'], 'ratelimit-reset': ['soon'] }],
    [{ 'x-ratelimit-remaining': ['5'], 'x-ratelimit-reset': ['30'] }],
  ])('%j bounds nothing', (headers) => {
    expect(ceiling(headers)).toBeNull();
  });

  test('what a cache kept was counted for somebody else', () => {
    const ratelimit = ['"default";r=50;t=30'];
    expect(ceiling({ ratelimit, age: ['12'] })).toBeNull();
    expect(ceiling({ ratelimit, age: ['0'] })).not.toBeNull();
    expect(ceiling({ ratelimit, age: ['old'] })).not.toBeNull();
  });

  test('it is read under the strict parser too: it is no wait', () => {
    const head = { status: 200, headers: { ratelimit: ['"a";r=5;t=30'] }, receivedAtMs: NOON };
    expect(readServerWait(head, { parse: 'strict', quirk: null }).rateLimit).not.toBeNull();
  });
});

describe('whether a quota is spent', () => {
  const isSpent = (headers: ResponseHeaders): boolean =>
    isQuotaSpent({ status: 403, headers, receivedAtMs: NOON });

  test.each([
    [{ 'x-ratelimit-remaining': ['0'] }, true],
    [{ 'x-ratelimit-remaining': [' 0.0 '] }, true],
    [{ 'x-ratelimit-remaining': ['5', '0'] }, true],
    [{ 'x-ratelimit-remaining-tokens': ['0'] }, true],
    [{ ratelimit: ['"a";r=5;t=1, "b";r=0;t=1'] }, true],
    [{ 'x-ratelimit-remaining': ['1'] }, false],
    [{ 'x-ratelimit-remaining': [''] }, false],
    [{ 'x-ratelimit-remaining': [] }, false],
    [{ 'x-ratelimit-remaining': undefined }, false],
    [{ 'x-other-remaining': ['0'] }, false],
    [{ ratelimit: ['"a";r=1;t=1'] }, false],
  ])('%j: %s', (headers, expected) => {
    expect(isSpent(headers)).toBe(expected);
  });
});

describe('one header by its name', () => {
  test.each([
    'Retry-After',
    'RETRY-AFTER-MS',
    'x-amz-retry-after',
    'x-retry-in',
    'RateLimit',
    'RateLimit-Reset',
    'X-RateLimit-Reset-Tokens',
  ])('%s has a reader', (name) => {
    expect(waitReaderOf(name)).toBeTypeOf('function');
  });

  test.each(['x-ratelimit-remaining', 'ratelimit-policy', 'date', '', 'constructor', '__proto__'])(
    '%s has none',
    (name) => {
      expect(waitReaderOf(name)).toBeUndefined();
    },
  );
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'a receipt of %d is a broken caller, not a wait',
  (receivedAtMs) => {
    expect(() =>
      readServerWait({ status: 429, headers: {}, receivedAtMs }, { parse: 'lenient', quirk: null }),
    ).toThrow(RangeError);
  },
);
