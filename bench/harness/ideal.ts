import type { HostDescriptionInput } from '@holdoff/sample-origin';

/**
 * The shortest time in which a host can serve `count` requests, s, for a client that knows the limit: the whole
 * burst at once, then every request as early as it is allowed.
 */
export function idealSeconds(limiter: HostDescriptionInput['limiter'], count: number): number {
  switch (limiter?.kind) {
    case 'token_bucket':
    case 'penalty':
      return Math.max(0, count - (limiter.burst ?? 1)) / limiter.perSecond;
    case 'fixed_window':
    case 'sliding_window':
      return ((Math.ceil(count / limiter.limit) - 1) * limiter.windowMs) / 1000;
    case 'none':
    case 'concurrency':
    case undefined:
      return 0;
  }
}
