import type { StopReason } from '../core/stop-reason.ts';
import type { Timeline } from './timeline.ts';

export interface SimulationResult {
  /** When the last URL ended; null: some were still waiting when the run was cut or their host was held. */
  readonly finishedMs: number | null;
  /** How far virtual time went. */
  readonly reachedMs: number;
  readonly urls: number;
  readonly done: number;
  readonly stopped: Readonly<Partial<Record<StopReason, number>>>;
  /** URLs without an end: waiting for their time, or for the owner of a held host. */
  readonly waiting: number;
  readonly requests: number;
  readonly throttled: number;
  readonly failed: number;
  /** Requests admitted inside a cooldown that the host had published before. */
  readonly inCooldown: number;
  readonly tokens: { readonly total: number; readonly spent: number } | null;
  readonly hosts: readonly HostReport[];
  readonly timeline: Timeline;
}

export interface HostReport {
  readonly name: string;
  readonly urls: number;
  readonly done: number;
  readonly requests: number;
  readonly throttled: number;
  /** Waves of 429s: all that were on their way together count as one. */
  readonly events: number;
  /** When the host's last URL was done; null: none was. */
  readonly lastDoneMs: number | null;
  /** Requests per second that were served, from the first request to the last page. */
  readonly servedPerSecond: number;
  /** What the host would have given in that time; null: no rate limits it. */
  readonly limitPerSecond: number | null;
  /** The pace at the end; null: not limited. */
  readonly pacePerSecond: number | null;
  readonly held: string | null;
}

/** Share of the requests that were answered 429, 0 to 1. */
export function throttledShare(result: Pick<SimulationResult, 'requests' | 'throttled'>): number {
  return result.requests === 0 ? 0 : result.throttled / result.requests;
}

/**
 * The least time a fleet that knew every limit would need, from limits and URL counts alone: the slowest host
 * decides. 0: nothing is limited.
 */
export function idealMs(result: Pick<SimulationResult, 'hosts'>): number {
  let longest = 0;
  for (const { urls, limitPerSecond } of result.hosts) {
    if (limitPerSecond !== null) longest = Math.max(longest, ((urls - 1) / limitPerSecond) * 1000);
  }
  return longest;
}
