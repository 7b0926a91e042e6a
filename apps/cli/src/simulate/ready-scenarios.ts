import type { ScenarioInput } from './scenario-file.ts';

const ONE_HOST = { concurrency: 16 };
const PENALTY = {
  kind: 'penalty',
  perSecond: 10,
  burst: 10,
  penaltyMs: 2_000,
  extendMs: 200,
  penaltyMostMs: 30_000,
} as const;
const LATENCY = { kind: 'uniform', minMs: 20, maxMs: 80 } as const;

/** Scenarios by name, each with one question that it answers. */
export const READY_SCENARIOS: Readonly<Record<string, ScenarioInput & { readonly about: string }>> = {
  cold: {
    about: 'A host of 10 requests/s that punishes haste, met for the first time: what does learning cost?',
    policy: ONE_HOST,
    origin: { hosts: [{ name: 'slow', limiter: PENALTY, latency: LATENCY }] },
  },
  warm: {
    about: 'The same host on the second night: what does knowing its pace give?',
    learnedPerSecond: 9.5,
    policy: ONE_HOST,
    origin: { hosts: [{ name: 'slow', limiter: PENALTY, latency: LATENCY }] },
  },
  silent: {
    about: 'The same host, and its 429s name no wait: does the fleet still find the way?',
    policy: ONE_HOST,
    origin: {
      hosts: [{ name: 'slow', limiter: PENALTY, latency: LATENCY, refusal: { retryAfter: 'absent' } }],
    },
  },
  halving: {
    about: 'A limit that halves after ten minutes and recovers after thirty: does the pace follow?',
    urls: 20_000,
    policy: ONE_HOST,
    origin: {
      hosts: [
        {
          name: 'moody',
          limiter: {
            kind: 'token_bucket',
            perSecond: 10,
            burst: 10,
            changes: [
              { atMs: 600_000, factor: 0.5 },
              { atMs: 1_800_000, factor: 1 },
            ],
          },
          latency: LATENCY,
        },
      ],
    },
  },
  mixed: {
    about: '20 hosts of 1 to 20 requests/s, five limiters, six ways to say when to come back',
    urls: 60,
    origin: 'mixed',
  },
  failing: {
    about:
      'A host where one answer in ten is a 503 and one in fifty a broken connection: what do retries cost?',
    urls: 2_000,
    policy: { concurrency: 8 },
    origin: {
      hosts: [
        {
          name: 'shaky',
          limiter: { kind: 'token_bucket', perSecond: 20, burst: 20 },
          latency: LATENCY,
          rules: [
            { share: 0.1, answer: { kind: 'status', status: 503 } },
            { share: 0.02, answer: { kind: 'reset' } },
          ],
        },
      ],
    },
  },
  million: {
    about:
      'A million URLs on 1,000 hosts of 10 requests/s, 50 workers with 100 hands each: how large a fleet?',
    urls: 1_000,
    fleet: { workers: 50, concurrency: 100 },
    origin: { hosts: [{ name: 'host', count: 1_000, limiter: PENALTY, latency: LATENCY }] },
  },
};
