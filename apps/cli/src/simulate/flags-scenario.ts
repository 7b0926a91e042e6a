import type { ScenarioInput } from './scenario-file.ts';

/** What the command line says about an origin without a file. */
export interface OriginFlags {
  readonly hosts?: number;
  readonly rate?: number;
  readonly limiter?: string;
  readonly burst?: number;
  readonly window?: number;
  readonly penalty?: number;
  readonly extend?: number;
  readonly latency?: readonly [fromMs: number, toMs: number];
  readonly header?: string;
}

export const LIMITER_KINDS = [
  'token_bucket',
  'fixed_window',
  'sliding_window',
  'penalty',
  'concurrency',
  'none',
] as const;

export const ORIGIN_FLAGS: readonly (keyof OriginFlags)[] = [
  'hosts',
  'rate',
  'limiter',
  'burst',
  'window',
  'penalty',
  'extend',
  'latency',
  'header',
];

const SECOND_MS = 1000;

/** One host (or many alike) from flags: a limiter of `rate` requests per second, bucket or window of one second. */
export function scenarioFromFlags(flags: OriginFlags): ScenarioInput {
  const [minMs, maxMs] = flags.latency ?? [20, 80];
  const host = {
    name: 'host',
    ...(flags.hosts === undefined ? {} : { count: flags.hosts }),
    limiter: limiterOf(flags),
    latency: { kind: 'uniform', minMs, maxMs },
    ...(flags.header === undefined ? {} : { refusal: { retryAfter: flags.header } }),
  };
  return { policy: { concurrency: 16 }, origin: { hosts: [host] } };
}

function limiterOf(flags: OriginFlags): Record<string, unknown> {
  const perSecond = flags.rate ?? 10;
  const burst = flags.burst ?? Math.max(1, Math.round(perSecond));
  const windowMs = Math.round((flags.window ?? 1) * SECOND_MS);
  const limit = Math.max(1, Math.round((perSecond * windowMs) / SECOND_MS));
  const kind = flags.limiter ?? 'token_bucket';
  switch (kind) {
    case 'penalty': {
      const penaltyMs = Math.round((flags.penalty ?? 2) * SECOND_MS);
      return { kind, perSecond, burst, penaltyMs, extendMs: Math.round((flags.extend ?? 0.2) * SECOND_MS) };
    }
    case 'fixed_window':
    case 'sliding_window':
      return { kind, limit, windowMs };
    case 'concurrency':
      return { kind, limit: Math.max(1, Math.round(perSecond)) };
    case 'none':
      return { kind };
    default:
      return { kind, perSecond, burst };
  }
}
