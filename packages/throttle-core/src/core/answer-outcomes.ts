import type { Verdict } from './outcome.ts';

/** How a request travelled. `tunnel_setup`: the answer is the proxy's reply to CONNECT. */
export type Route = 'direct' | 'forward_proxy' | 'tunnel' | 'tunnel_setup';

/** What an answer shows beside its status. */
export type AnswerSign = 'proxy_answered' | 'challenge' | 'usable_wait' | 'rate_limited';

export interface AnswerRow extends Verdict {
  /** Inclusive ranges. */
  readonly statuses: readonly (readonly [from: number, to: number])[];
  /** Null: whatever else the answer shows. */
  readonly sign: AnswerSign | null;
}

const ANY_STATUS = [[0, 999]] as const;

/** What is no final HTTP answer. No status is listed: it is the row for all that no other row has. */
export const OTHER_ANSWER: AnswerRow = {
  when: 'anything else: 1xx as the last answer, 0, 600 and above',
  statuses: [],
  sign: null,
  class: 'transport',
  source: 'destination',
  stop: null,
  why: 'Not a final HTTP answer.',
};

/** Answers, most specific first: the first row that matches decides, and the last takes all the others. */
export const ANSWER_ROWS: readonly AnswerRow[] = [
  {
    when: '403 from the proxy itself',
    statuses: [[403, 403]],
    sign: 'proxy_answered',
    class: 'neutral',
    source: 'proxy',
    stop: 'proxy',
    why: 'A forbidden destination is forbidden on the next attempt too; the host was never asked.',
  },
  {
    when: 'any other answer of the proxy itself',
    statuses: ANY_STATUS,
    sign: 'proxy_answered',
    class: 'neutral',
    source: 'proxy',
    stop: null,
    why: 'The proxy failed, not the host: nothing is learned about the host, and the job waits for the proxy. 407 too: its owner renews the credentials, and no job is lost over it.',
  },
  {
    when: '429 with a usable wait, challenge page or not',
    statuses: [[429, 429]],
    sign: 'usable_wait',
    class: 'throttled',
    source: 'destination',
    stop: null,
    why: 'The server said when to come back. That binds the fleet whatever the page shows.',
  },
  {
    when: 'a challenge page, by header or by body',
    statuses: ANY_STATUS,
    sign: 'challenge',
    class: 'blocked',
    source: 'destination',
    stop: 'blocked',
    why: 'The site asks for a human. Sending more is fighting.',
  },
  {
    when: '429',
    statuses: [[429, 429]],
    sign: null,
    class: 'throttled',
    source: 'destination',
    stop: null,
    why: 'Too many requests. Never a failure.',
  },
  {
    when: '403 with rate-limit signs: a usable wait, a quota at 0, or a body that says so',
    statuses: [[403, 403]],
    sign: 'rate_limited',
    class: 'throttled',
    source: 'destination',
    stop: null,
    why: 'Some services answer their limits with 403.',
  },
  {
    when: '401, 403, 407 without a proxy, 999',
    statuses: [
      [401, 401],
      [403, 403],
      [407, 407],
      [999, 999],
    ],
    sign: null,
    class: 'blocked',
    source: 'destination',
    stop: 'blocked',
    why: 'The site does not let us in; the same request gets the same answer.',
  },
  {
    when: '413 with a usable wait',
    statuses: [[413, 413]],
    sign: 'usable_wait',
    class: 'unavailable',
    source: 'destination',
    stop: null,
    why: 'With Retry-After the condition is temporary (RFC 9110 section 15.5.14).',
  },
  {
    when: '408, 500, 502, 503, 504, 507 to 509, 512 to 599',
    statuses: [
      [408, 408],
      [500, 500],
      [502, 504],
      [507, 509],
      [512, 599],
    ],
    sign: null,
    class: 'unavailable',
    source: 'destination',
    stop: null,
    why: 'The server cannot serve now. 500 is among them: most pass with a deployment or a database; a page that stays broken is bounded by an attempt limit of its own.',
  },
  {
    when: '511',
    statuses: [[511, 511]],
    sign: null,
    class: 'transport',
    source: 'client',
    stop: null,
    why: 'A captive portal on our own side answered (RFC 6585 section 6); the host was never asked.',
  },
  {
    when: '206',
    statuses: [[206, 206]],
    sign: null,
    class: 'served',
    source: 'destination',
    stop: 'bad_content',
    why: 'No range was asked for: this is a part of the page, and nobody may take it for the whole.',
  },
  {
    when: '2xx, 3xx',
    statuses: [[200, 399]],
    sign: null,
    class: 'served',
    source: 'destination',
    stop: null,
    why: 'The host serves us. A wait on a redirect is kept before it is followed; a wait on a page means nothing.',
  },
  {
    when: 'any other 4xx (404, 410, 425, 451, …), 501, 505, 506, 510',
    statuses: [
      [400, 499],
      [501, 501],
      [505, 506],
      [510, 510],
    ],
    sign: null,
    class: 'permanent',
    source: 'destination',
    stop: 'permanent',
    why: 'The host is fine and this is its answer. 425 too: we send no early data, so a repeat is the same request.',
  },
  OTHER_ANSWER,
];
