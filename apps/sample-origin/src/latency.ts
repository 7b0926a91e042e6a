import type { LatencyDescription } from './description.ts';

/** How long an answer is held back, ms. `othersInFlight` does not count the request itself. */
export function latencyMs(latency: LatencyDescription, draw01: number, othersInFlight: number): number {
  switch (latency.kind) {
    case 'none':
      return 0;
    case 'fixed':
      return latency.ms;
    case 'uniform':
      return latency.minMs + draw01 * (latency.maxMs - latency.minMs);
    case 'load':
      return Math.min(latency.maxMs, latency.baseMs + latency.perInFlightMs * othersInFlight);
  }
}
