import type { HostDescription } from './description.ts';
import type { HeaderLines } from './exchange.ts';
import type { Verdict } from './limiters/limiter.ts';

/** What a served answer says of the allowance that is left. `hostNowMs`: the host's wall clock. */
export function rateHeaders(
  host: Pick<HostDescription, 'advertise'>,
  verdict: Extract<Verdict, { kind: 'allowed' }>,
  hostNowMs: number,
): HeaderLines {
  if (host.advertise === 'none' || verdict.remaining === null) return [];
  const resetSeconds = Math.ceil((verdict.resetMs ?? 0) / 1000);
  if (host.advertise === 'ratelimit') {
    return [['RateLimit', `"default";r=${verdict.remaining};t=${resetSeconds}`]];
  }
  return [
    ['X-RateLimit-Remaining', String(verdict.remaining)],
    ['X-RateLimit-Reset', String(Math.ceil((hostNowMs + (verdict.resetMs ?? 0)) / 1000))],
  ];
}
