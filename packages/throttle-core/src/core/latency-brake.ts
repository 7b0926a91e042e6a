import type { PaceState } from './pace.ts';

/**
 * Slows a host whose own latency grows with our load, before it fails. The gradient of Netflix' Gradient2 limit
 * (a long and a short mean of latency), used as a brake only: it never raises a pace. A 429 answered in 5 ms
 * looks fast, so only served results count.
 *
 * A host may also be slow for reasons of its own: heavier pages, a busy evening. Braking does not help there,
 * and the mean does not fall; after `GIVE_UP_SAMPLES` the new level is taken as healthy and the brake let go.
 */
export type Latency = Pick<
  PaceState,
  'latencyMs' | 'latencyBaseMs' | 'latencySamples' | 'brake' | 'brakeSamples' | 'brakeFromMs'
>;

/** The means settle on this many results before anything is judged. */
const WARM_UP_SAMPLES = 16;
/** The healthy level creeps up to the mean by this share per result, and follows it down at the mean's own. */
const CREEP = 1 / 512;
const SMOOTHING = 1 / 16;
/** Latency below twice the healthy level plus this is noise. */
const TOLERANCE = 2;
const TOLERANCE_MS = 50;
const STRONGEST_BRAKE = 0.25;
const GIVE_UP_SAMPLES = 64;
/** A brake that works brings the mean below this share of its peak. */
const WORKING_SHARE = 0.8;

/** `latencyMs` is the time to response headers of one served result. */
export function brakeOnLatency(latency: Latency, latencyMs: number): Latency {
  const samples = Math.min(latency.latencySamples + 1, WARM_UP_SAMPLES + 1);
  const weight = samples <= WARM_UP_SAMPLES ? 1 / samples : SMOOTHING;
  const mean = latency.latencyMs + (latencyMs - latency.latencyMs) * weight;
  if (samples <= WARM_UP_SAMPLES) return level(mean, mean, samples);

  const base = latency.latencyBaseMs + (mean - latency.latencyBaseMs) * follow(mean, latency.latencyBaseMs);
  const limit = base * TOLERANCE + TOLERANCE_MS;
  if (mean <= limit) return level(mean, base, samples);

  const brakeSamples = latency.brakeSamples + 1;
  const peak = Math.max(mean, latency.brakeFromMs);
  if (brakeSamples >= GIVE_UP_SAMPLES && mean > peak * WORKING_SHARE) return level(mean, mean, samples);
  return {
    latencyMs: mean,
    latencyBaseMs: base,
    latencySamples: samples,
    brake: Math.max(STRONGEST_BRAKE, limit / mean),
    brakeSamples,
    brakeFromMs: peak,
  };
}

function follow(mean: number, base: number): number {
  return mean < base ? SMOOTHING : CREEP;
}

function level(mean: number, base: number, samples: number): Latency {
  return {
    latencyMs: mean,
    latencyBaseMs: base,
    latencySamples: samples,
    brake: 1,
    brakeSamples: 0,
    brakeFromMs: 0,
  };
}
