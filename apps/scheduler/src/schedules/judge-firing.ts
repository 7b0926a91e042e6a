import { latestFiring, type Schedule } from '@holdoff/url-job/schedule-file';

export type FiringVerdict =
  /** `firingMs` is the instant that names the run. */
  { readonly kind: 'run'; readonly firingMs: number } | { readonly kind: 'missed' };

/** A firing that comes later than this was missed: no scheduler was there. */
export const MISSED_AFTER_MS = 300_000;

/**
 * What becomes of a firing. Those that nobody was there for come as one, late: with `run_once` it is the run of the
 * latest of them, with `skip` it is none. Pure.
 */
export function judgeFiring(schedule: Schedule, plannedMs: number, nowMs: number): FiringVerdict {
  if (nowMs - plannedMs <= MISSED_AFTER_MS) return { kind: 'run', firingMs: plannedMs };
  if (schedule.missed === 'skip') return { kind: 'missed' };
  return { kind: 'run', firingMs: Math.max(plannedMs, latestFiring(schedule, nowMs)) };
}
