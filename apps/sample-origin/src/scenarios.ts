import type { HostDescriptionInput, OriginDescriptionInput } from './description.ts';

/** Origins ready to run, by name. Each says in a line what it is for. */
export const SCENARIOS: Readonly<
  Record<string, { readonly about: string; readonly origin: OriginDescriptionInput }>
> = {
  demo: {
    about: 'one host of 10 requests/s that extends its penalty for early requests, and four free hosts',
    origin: {
      hosts: [
        {
          name: 'slow',
          limiter: {
            kind: 'penalty',
            perSecond: 10,
            burst: 10,
            penaltyMs: 2_000,
            extendMs: 200,
            penaltyMostMs: 30_000,
          },
          latency: { kind: 'uniform', minMs: 20, maxMs: 80 },
        },
        { name: 'free', count: 4, latency: { kind: 'uniform', minMs: 10, maxMs: 60 } },
      ],
    },
  },
  mixed: {
    about: '20 hosts of 1 to 20 requests/s with five limiters and six ways to say when to come back',
    origin: { hosts: Array.from({ length: 20 }, (_, at) => mixedHost(at)) },
  },
  free: {
    about: '200 hosts without a limit',
    origin: { hosts: [{ name: 'free', count: 200, page: { bytes: 2_048 } }] },
  },
  redirects: {
    about: 'a free host that redirects every request to a host of 10 requests/s',
    origin: {
      hosts: [
        { name: 'door', rules: [{ answer: { kind: 'redirect', toHost: 'slow' } }] },
        {
          name: 'slow',
          limiter: { kind: 'penalty', perSecond: 10, burst: 10, penaltyMs: 2_000, extendMs: 200 },
        },
      ],
    },
  },
  faults: {
    about: 'one host for each way in which a server can misbehave',
    origin: { hosts: faultyHosts() },
  },
};

function mixedHost(at: number): HostDescriptionInput {
  const perSecond = at + 1;
  const limiters: readonly HostDescriptionInput['limiter'][] = [
    { kind: 'token_bucket', perSecond, burst: 5 },
    { kind: 'fixed_window', limit: perSecond * 5, windowMs: 5_000 },
    { kind: 'sliding_window', limit: perSecond * 2, windowMs: 2_000 },
    { kind: 'sliding_window', limit: perSecond * 2, windowMs: 2_000, countRejects: true },
    { kind: 'penalty', perSecond, burst: 5, penaltyMs: 1_000, extendMs: 100, penaltyMostMs: 10_000 },
  ];
  const forms = [
    'seconds',
    'http_date',
    'float',
    'ratelimit',
    'x_ratelimit_reset_epoch',
    'duplicate',
  ] as const;
  return {
    name: `mixed-${perSecond}`,
    limiter: limiters[at % limiters.length],
    refusal: { status: at % 7 === 6 ? 503 : 429, retryAfter: forms[at % forms.length] },
    latency: { kind: 'uniform', minMs: 10, maxMs: 60 },
  };
}

function faultyHosts(): HostDescriptionInput[] {
  const answers = {
    'always-503': { kind: 'status', status: 503, retryAfterSeconds: 2 },
    'always-500': { kind: 'status', status: 500 },
    challenge: { kind: 'challenge' },
    reset: { kind: 'reset' },
    never: { kind: 'never' },
    'slow-headers': { kind: 'slow_headers' },
    'slow-body': { kind: 'slow_body' },
    informational: { kind: 'informational' },
    'endless-body': { kind: 'endless_body' },
    'truncated-body': { kind: 'truncated_body' },
    'truncated-chunks': { kind: 'truncated_body', framing: 'chunked' },
    'huge-body': { kind: 'huge_body' },
    'huge-headers': { kind: 'huge_headers' },
    'gzip-bomb': { kind: 'bomb', encoding: 'gzip' },
    'br-bomb': { kind: 'bomb', encoding: 'br' },
    'zstd-bomb': { kind: 'bomb', encoding: 'zstd' },
    'redirect-loop': { kind: 'redirect', hops: 2, loop: true },
    'redirect-chain': { kind: 'redirect', hops: 10 },
  } as const;
  return Object.entries(answers).map(([name, answer]) => ({ name, rules: [{ answer }] }));
}
