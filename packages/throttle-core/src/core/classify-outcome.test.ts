import { describe, expect, test } from 'vitest';
import { ANSWER_ROWS, OTHER_ANSWER } from './answer-outcomes.ts';
import { type AnswerFacts, classifyAnswer, classifyFault, type FaultFacts } from './classify-outcome.ts';
import { FAULT_ROWS, OTHER_FAULT } from './fault-outcomes.ts';
import type { Outcome } from './outcome.ts';

const NOON = Date.UTC(2026, 5, 15, 12);

function answer(status: number, rest: Partial<AnswerFacts> = {}): string {
  return label(
    classifyAnswer({ status, headers: {}, receivedAtMs: NOON, route: 'direct', body: null, ...rest }),
  );
}

function fault(code: string, rest: Partial<FaultFacts> = {}): string {
  return label(classifyFault({ code, phase: 'headers', route: 'direct', ...rest }));
}

function label({ class: kind, source, stop }: Outcome): string {
  return `${kind} ${source} ${stop ?? '-'}`;
}

function detailOf(status: number, rest: Partial<AnswerFacts> = {}): string {
  return classifyAnswer({ status, headers: {}, receivedAtMs: NOON, route: 'direct', body: null, ...rest })
    .detail;
}

function faultDetail(code: string): string {
  return classifyFault({ code, phase: 'body', route: 'direct' }).detail;
}

function rowOf(code: string): number {
  return FAULT_ROWS.findIndex(({ codes }) => codes.includes(code));
}

/** The stop reasons that the rows of these classes lead to. */
function stops(classes: readonly string[]): readonly (string | null)[] {
  const rows = [...ANSWER_ROWS, ...FAULT_ROWS].filter((row) => classes.includes(row.class));
  return [...new Set(rows.map((row) => row.stop))];
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

describe('every status, by itself', () => {
  const expected = new Map<number, string>();
  const put = (statuses: readonly number[], text: string): void => {
    for (const status of statuses) expected.set(status, text);
  };
  put(range(0, 999), 'transport destination -');
  put(range(200, 399), 'served destination -');
  put([206], 'served destination bad_content');
  put(range(400, 499), 'permanent destination permanent');
  put([401, 403, 407, 999], 'blocked destination blocked');
  put([429], 'throttled destination -');
  put([408, 500, 502, 503, 504, 507, 508, 509, ...range(512, 599)], 'unavailable destination -');
  put([501, 505, 506, 510], 'permanent destination permanent');
  put([511], 'transport client -');

  test.each(range(0, 999))('%i', (status) => {
    expect(answer(status)).toBe(expected.get(status));
  });

  test.each([-1, 1000, 200.5, Number.NaN, Number.POSITIVE_INFINITY])('%d is no status', (status) => {
    expect(answer(status)).toBe('transport destination -');
  });
});

describe('waits change what an answer means', () => {
  const wait = { headers: { 'retry-after': ['60'] } };
  test.each([
    [429, 'throttled destination -'],
    [503, 'unavailable destination -'],
    [500, 'unavailable destination -'],
    [403, 'throttled destination -'],
    [413, 'unavailable destination -'],
    [302, 'served destination -'],
    [200, 'served destination -'],
    [404, 'permanent destination permanent'],
    [401, 'blocked destination blocked'],
  ])('%i with Retry-After: 60 is %s', (status, expected) => {
    expect(answer(status, wait)).toBe(expected);
  });

  test.each(['soon', '-5', ''])(
    '403 and 413 with an unusable wait (%j) are what they are without',
    (value) => {
      const headers = { 'retry-after': [value] };
      expect(answer(403, { headers })).toBe('blocked destination blocked');
      expect(answer(413, { headers })).toBe('permanent destination permanent');
    },
  );

  test('a wait of zero, or one that only the lenient parser reads, is a sign too', () => {
    expect(answer(403, { headers: { 'retry-after': ['0'] } })).toBe('throttled destination -');
    expect(answer(403, { headers: { 'retry-after': ['30.5'] } })).toBe('throttled destination -');
  });
});

describe('403 as a rate limit', () => {
  test.each([
    [{ 'x-ratelimit-remaining': ['0'] }],
    [{ 'x-rate-limit-remaining': ['0'] }],
    [{ 'ratelimit-remaining': ['0'] }],
    [{ 'x-ratelimit-remaining-requests': ['0'] }],
    [{ ratelimit: ['"default";r=0;t=30'] }],
    [{ ratelimit: ['limit=100, remaining=0, reset=30'] }],
    [{ 'retry-after-ms': ['1500'] }],
  ])('%j', (headers) => {
    expect(answer(403, { headers })).toBe('throttled destination -');
  });

  test.each([
    [{ 'x-ratelimit-remaining': ['1'] }],
    [{ 'x-ratelimit-remaining': ['none'] }],
    [{ 'x-ratelimit-reset': ['30'] }],
    [{ ratelimit: ['"default";r=5;t=30'] }],
    [{ ratelimit: ['r=0'] }],
  ])('%j says nothing', (headers) => {
    expect(answer(403, { headers })).toBe('blocked destination blocked');
  });

  test('the body can say so', () => {
    expect(answer(403, { body: { challenge: false, rateLimited: true } })).toBe('throttled destination -');
    expect(answer(403, { body: { challenge: false, rateLimited: false } })).toBe(
      'blocked destination blocked',
    );
  });
});

describe('challenge pages', () => {
  test.each([
    ['cf-mitigated', 'challenge', 403],
    ['cf-mitigated', 'challenge', 503],
    ['cf-mitigated', 'challenge', 200],
    ['x-amzn-waf-action', 'challenge', 202],
    ['x-amzn-waf-action', 'captcha', 405],
    ['x-vercel-mitigated', 'challenge', 429],
    ['x-vercel-mitigated', 'deny', 403],
    ['x-sucuri-block', 'XSS02', 403],
  ])('%s: %s with %i', (name, value, status) => {
    expect(answer(status, { headers: { [name]: [value] } })).toBe('blocked destination blocked');
  });

  test('the same headers with another value mean nothing', () => {
    expect(answer(200, { headers: { 'cf-mitigated': ['none'], 'x-amzn-waf-action': ['allow'] } })).toBe(
      'served destination -',
    );
  });

  test.each([403, 429, 503])('seen in the body of a %i', (status) => {
    expect(answer(status, { body: { challenge: true, rateLimited: false } })).toBe(
      'blocked destination blocked',
    );
  });

  test.each([200, 404, 500])('a page that shows one with %i is not one', (status) => {
    expect(answer(status, { body: { challenge: true, rateLimited: false } })).toBe(answer(status));
  });

  test('a 429 that names a wait is a throttle all the same: the fleet must keep it', () => {
    const headers = { 'x-vercel-mitigated': ['challenge'], 'retry-after': ['60'] };
    expect(answer(429, { headers })).toBe('throttled destination -');
  });

  test('a challenge stays one when the answer carries a wait with another status', () => {
    const headers = { 'cf-mitigated': ['challenge'], 'retry-after': ['60'] };
    expect(answer(403, { headers })).toBe('blocked destination blocked');
  });
});

describe('who answered, where a proxy is used', () => {
  test.each<[AnswerFacts['route'], number, string]>([
    ['tunnel_setup', 407, 'neutral proxy -'],
    ['tunnel_setup', 403, 'neutral proxy proxy'],
    ['tunnel_setup', 429, 'neutral proxy -'],
    ['tunnel_setup', 502, 'neutral proxy -'],
    ['tunnel_setup', 503, 'neutral proxy -'],
    ['tunnel', 407, 'blocked destination blocked'],
    ['tunnel', 403, 'blocked destination blocked'],
    ['tunnel', 502, 'unavailable destination -'],
    ['forward_proxy', 407, 'neutral proxy -'],
    ['forward_proxy', 502, 'neutral proxy -'],
    ['forward_proxy', 504, 'neutral proxy -'],
    ['forward_proxy', 503, 'unavailable destination -'],
    ['forward_proxy', 500, 'unavailable destination -'],
    ['forward_proxy', 403, 'blocked destination blocked'],
    ['forward_proxy', 429, 'throttled destination -'],
    ['forward_proxy', 200, 'served destination -'],
  ])('%s, %i', (route, status, expected) => {
    expect(answer(status, { route })).toBe(expected);
  });

  test('what the proxy marks as its own error is its own', () => {
    const squid = { 'x-squid-error': ['ERR_ACCESS_DENIED 0'] };
    expect(answer(403, { route: 'forward_proxy', headers: squid })).toBe('neutral proxy proxy');
    expect(answer(503, { route: 'forward_proxy', headers: squid })).toBe('neutral proxy -');
    expect(answer(503, { route: 'tunnel', headers: squid })).toBe('unavailable destination -');
    const named = { 'proxy-status': ['exit.test; error=connection_refused'] };
    expect(answer(503, { route: 'forward_proxy', headers: named })).toBe('neutral proxy -');
    expect(answer(404, { route: 'forward_proxy', headers: named })).toBe('permanent destination permanent');
    const fine = { 'proxy-status': ['exit.test; received-status=503'] };
    expect(answer(503, { route: 'forward_proxy', headers: fine })).toBe('unavailable destination -');
  });

  test('a bad gateway that names a wait is kept as a wait of the site', () => {
    const headers = { 'retry-after': ['60'] };
    expect(answer(502, { route: 'forward_proxy', headers })).toBe('unavailable destination -');
  });
});

describe('faults', () => {
  test.each([
    ['ERR_ABORTED', 'neutral client -'],
    ['ADDRESS_NOT_ALLOWED', 'neutral client address_not_allowed'],
    ['ERR_INVALID_URL', 'neutral client invalid_url'],
    ['ERR_UNSUPPORTED_PROTOCOL', 'neutral client invalid_url'],
    ['ERR_TOO_MANY_REDIRECTS', 'served destination redirect_loop'],
    ['ENOTFOUND', 'neutral client dns'],
    ['ENODATA', 'neutral client dns'],
    ['EAI_NONAME', 'neutral client dns'],
    ['EAI_AGAIN', 'transport client -'],
    ['EAI_FAIL', 'transport client -'],
    ['ESERVFAIL', 'transport client -'],
    ['CERT_HAS_EXPIRED', 'neutral client tls'],
    ['CERT_NOT_YET_VALID', 'neutral client tls'],
    ['CERT_REVOKED', 'neutral client tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'neutral client tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'neutral client tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'neutral client tls'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'neutral client tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'neutral client tls'],
    ['ERR_TLS_HANDSHAKE_TIMEOUT', 'transport destination -'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'neutral client tls'],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'transport destination -'],
    ['EPROTO', 'transport destination -'],
    ['HPE_HEADER_OVERFLOW', 'served destination too_large'],
    ['HPE_INVALID_CONSTANT', 'transport destination -'],
    ['HPE_UNEXPECTED_CONTENT_LENGTH', 'transport destination -'],
    ['BODY_TOO_LARGE', 'served destination too_large'],
    ['Z_DATA_ERROR', 'served destination bad_content'],
    ['Z_BUF_ERROR', 'transport destination -'],
    ['ERR_HTTP_CONTENT_LENGTH_MISMATCH', 'transport destination -'],
    ['ERR_READING_RESPONSE_STREAM', 'transport destination -'],
    ['ECONNREFUSED', 'transport destination -'],
    ['ECONNRESET', 'transport destination -'],
    ['EPIPE', 'transport destination -'],
    ['EHOSTUNREACH', 'transport destination -'],
    ['ENETUNREACH', 'transport client -'],
    ['ETIMEDOUT', 'transport destination -'],
    ['ATTEMPT_BUDGET', 'transport destination -'],
    ['EMFILE', 'transport client -'],
    ['ENOSPC', 'transport client -'],
    ['PROXY_AUTH', 'neutral proxy -'],
    ['PROXY_REFUSED', 'neutral proxy -'],
    ['ERR_SOMETHING_NEW', 'transport destination -'],
    ['CERTX', 'transport destination -'],
    ['PROXYX', 'transport destination -'],
    ['', 'transport destination -'],
  ])('%s is %s', (code, expected) => {
    expect(fault(code)).toBe(expected);
  });

  test.each<[string, FaultFacts['phase'], string]>([
    ['ETIMEDOUT', 'dns', 'transport client -'],
    ['ETIMEDOUT', 'queue', 'transport client -'],
    ['ETIMEDOUT', 'connect', 'transport destination -'],
    ['ETIMEDOUT', 'tls', 'transport destination -'],
    ['ETIMEDOUT', 'body', 'transport destination -'],
    ['ECONNREFUSED', 'dns', 'transport client -'],
    ['ECONNRESET', 'body', 'transport destination -'],
  ])('%s during %s is %s', (code, phase, expected) => {
    expect(fault(code, { phase })).toBe(expected);
  });

  test.each<[string, FaultFacts['phase'], string]>([
    ['ECONNREFUSED', 'connect', 'neutral proxy -'],
    ['ENOTFOUND', 'dns', 'neutral proxy -'],
    ['ETIMEDOUT', 'proxy', 'neutral proxy -'],
    ['CERT_HAS_EXPIRED', 'proxy', 'neutral proxy -'],
    ['CERT_HAS_EXPIRED', 'tls', 'neutral client tls'],
    ['ECONNRESET', 'headers', 'transport destination -'],
    ['ERR_ABORTED', 'connect', 'neutral client -'],
    ['ADDRESS_NOT_ALLOWED', 'dns', 'neutral client address_not_allowed'],
  ])('through a proxy, %s during %s is %s', (code, phase, expected) => {
    expect(fault(code, { phase, route: 'tunnel' })).toBe(expected);
    expect(fault(code, { phase, route: 'forward_proxy' })).toBe(expected);
  });

  test.each([
    ['EAI_NONAME', 'EAI_*'],
    ['ERR_TLS_HANDSHAKE_TIMEOUT', 'ERR_TLS_*'],
    ['HPE_HEADER_OVERFLOW', 'HPE_*'],
  ])('%s is decided before the %s it begins like', (code, pattern) => {
    expect(rowOf(code)).toBeGreaterThanOrEqual(0);
    expect(rowOf(code)).toBeLessThan(rowOf(pattern));
  });
});

describe('the tables', () => {
  test('every row can be reached', () => {
    const reached = new Set<string>();
    for (const row of FAULT_ROWS) {
      for (const pattern of row.codes) {
        const code = pattern.replace('*', 'X');
        const facts = {
          code,
          phase: row.phases?.[0] ?? 'body',
          route: row.proxied ? 'tunnel' : 'direct',
        } as const;
        const outcome = classifyFault(facts);
        expect([pattern, label(outcome)]).toEqual([pattern, `${row.class} ${row.source} ${row.stop ?? '-'}`]);
        reached.add(row.when);
      }
    }
    expect(reached.size).toBe(FAULT_ROWS.length - 1);
  });

  test('no code stands in two rows, and both tables end with a row for everything', () => {
    const codes = FAULT_ROWS.flatMap((row) => row.codes).filter((code) => code !== '*');
    expect(new Set(codes).size).toBe(codes.length);
    expect(FAULT_ROWS.at(-1)).toBe(OTHER_FAULT);
    expect(ANSWER_ROWS.at(-1)).toBe(OTHER_ANSWER);
  });

  test('a throttle never ends a job, and what is blocked or permanent always does', () => {
    expect(stops(['throttled', 'unavailable', 'transport'])).toEqual([null]);
    expect(stops(['blocked'])).toEqual(['blocked']);
    expect(stops(['permanent'])).toEqual(['permanent']);
  });
});

describe('the sentence for people', () => {
  test('names the status, and what made it more than that', () => {
    expect(detailOf(429)).toBe('429 Too Many Requests');
    expect(detailOf(429, { headers: { 'retry-after': ['1'] } })).toBe('429 Too Many Requests');
    expect(detailOf(599)).toBe('599');
    expect(detailOf(403, { headers: { 'retry-after': ['1'] } })).toBe(
      '403 Forbidden, a rate limit by its signs',
    );
    expect(detailOf(403, { headers: { 'cf-mitigated': ['challenge'] } })).toBe(
      '403 Forbidden, a challenge page',
    );
    expect(detailOf(502, { route: 'tunnel_setup' })).toBe('the proxy answered 502 Bad Gateway');
  });

  test('names the failure, its code and what was under way', () => {
    expect(faultDetail('ECONNRESET')).toBe('connection reset (ECONNRESET) while reading the answer');
    expect(faultDetail('HPE_INVALID_CONSTANT')).toBe(
      'not HTTP, or not TLS as it should be (HPE_INVALID_CONSTANT) while reading the answer',
    );
  });

  test.each(['http://user:secret@a.test/', 'A'.repeat(65), 'toString()', ''])(
    'does not repeat a code that is none: %j',
    (code) => {
      expect(faultDetail(code)).toBe('a code that is not known (unknown code) while reading the answer');
    },
  );

  test('a code that is the name of an object member is a code like others', () => {
    expect(faultDetail('constructor')).toBe(
      'a code that is not known (constructor) while reading the answer',
    );
  });
});
