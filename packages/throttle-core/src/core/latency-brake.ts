import type { PaceState } from './pace.ts';

/**
 * Slows a host whose own latency grows with our load, before it fails. The gradient of Netflix' Gradient2 limit
 * (a long and a short mean of latency), used as a brake only: it never raises a pace. A 429 answered in 5 ms
 * looks fast, so only served results count.
 *
 * A host may also be slow for reasons of its own: heavier pages, a busy evening. So the brake is a test in two
 * stages: it slows down as far as the latency has grown, and if that does not help, to half of what came through,
 * at which any queue of ours drains. If the mean does not fall even then, the load is not the cause: the new level
 * is taken as healthy and the brake let go.
 */
export type Latency = Pick<
  PaceState,
  'latencyMs' | 'latencyBaseMs' | 'latencySamples' | 'brake' | 'brakeSamples' | 'brakeFromMs' | 'brakeShare'
>;

/** `in_vain`: the brake was let go because it did not help. */
export type BrakeChange = 'none' | 'pulled' | 'in_vain';

/** The means settle on this many results before anything is judged. */
const WARM_UP_SAMPLES = 16;
/** The healthy level creeps up to the mean by this share per result, and follows it down at the mean's own. */
const CREEP = 1 / 512;
const SMOOTHING = 1 / 16;
/** One page that took an age says little: no result counts for more than this many means. */
const OUTLIER = 4;
/** Latency below twice the healthy level plus this is noise. */
const TOLERANCE = 2;
const TOLERANCE_MS = 50;
const STRONGEST_BRAKE = 0.25;
const DRAINING_BRAKE = 0.5;
const STAGE_SAMPLES = 32;
/** A brake that works brings the mean below this share of its peak. */
const WORKING_SHARE = 0.8;

/** `latencyMs` is the time to response headers of one served result, `share` what comes through of the pace just now. */
export function brakeOnLatency(
  latency: Latency,
  latencyMs: number,
  share: number,
): { readonly latency: Latency; readonly change: BrakeChange } {
  const samples = Math.min(latency.latencySamples + 1, WARM_UP_SAMPLES + 1);
  if (samples <= WARM_UP_SAMPLES) {
    const mean = latency.latencyMs + (latencyMs - latency.latencyMs) / samples;
    return { latency: free(mean, mean, samples), change: 'none' };
  }
  const counted = Math.min(latencyMs, latency.latencyMs * OUTLIER);
  const mean = latency.latencyMs + (counted - latency.latencyMs) * SMOOTHING;
  const before = latency.latencyBaseMs;
  const base = before + (mean - before) * (mean < before ? SMOOTHING : CREEP);
  const limit = base * TOLERANCE + TOLERANCE_MS;
  if (mean <= limit) return { latency: free(mean, base, samples), change: 'none' };

  const pulled = latency.brakeSamples === 0;
  const brakeSamples = latency.brakeSamples + 1;
  const brakeFromMs = Math.max(mean, latency.brakeFromMs);
  const over = brakeSamples > STAGE_SAMPLES * 2;
  if (over && mean > brakeFromMs * WORKING_SHARE) {
    return { latency: free(mean, mean, samples), change: 'in_vain' };
  }
  // What comes through may have shrunk since: a host that is overrun gives less than it could.
  const drains = brakeSamples === STAGE_SAMPLES + 1;
  const brakeShare = pulled ? share : drains ? Math.min(latency.brakeShare, share) : latency.brakeShare;
  const brake = brakeSamples <= STAGE_SAMPLES ? Math.max(STRONGEST_BRAKE, limit / mean) : DRAINING_BRAKE;
  return {
    latency: {
      latencyMs: mean,
      latencyBaseMs: base,
      latencySamples: samples,
      brake: brake * brakeShare,
      brakeSamples: over ? STAGE_SAMPLES + 1 : brakeSamples,
      brakeFromMs: over ? mean : brakeFromMs,
      brakeShare,
    },
    change: pulled ? 'pulled' : 'none',
  };
}

function free(mean: number, base: number, samples: number): Latency {
  return {
    latencyMs: mean,
    latencyBaseMs: base,
    latencySamples: samples,
    brake: 1,
    brakeSamples: 0,
    brakeFromMs: 0,
    brakeShare: 1,
  };
}
