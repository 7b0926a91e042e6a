import type { HostEntry } from './memory-state.ts';

const LEAST_MS = 30_000;
const MOST_MS = 86_400_000;
const SERVICE_GUESS_MS = 1000;

/** Estimated turn x 2, between 30 s and 1 day from now, never after the deadline. */
export function fallbackAt(host: HostEntry, place: number, deadlineMs: number, nowMs: number): number {
  const service = host.latencyMs > 0 ? host.latencyMs : SERVICE_GUESS_MS;
  const each = Math.max(host.intervalMs, service / Math.max(1, host.cap));
  const openMs = host.circuit.state === 'closed' ? 0 : host.circuit.openUntilMs - nowMs;
  const opensMs = Math.max(0, host.cooldownUntilMs - nowMs, openMs);
  const turnMs = host.hold === null ? opensMs + place * each : MOST_MS;
  const at = nowMs + Math.ceil(Math.min(MOST_MS, Math.max(LEAST_MS, turnMs * 2)));
  return deadlineMs > 0 ? Math.min(at, Math.max(nowMs, deadlineMs)) : at;
}
