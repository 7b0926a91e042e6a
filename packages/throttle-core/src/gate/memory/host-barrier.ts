import type { WaitCause } from '../gate.ts';
import type { HostEntry } from './memory-state.ts';

/** What stands before every request to a host, and when it can fall; null: when the owner acts. */
export interface Barrier {
  readonly cause: WaitCause;
  readonly fallsAtMs: number | null;
}

/** In order: hold, circuit, cooldown, scout. */
export function hostBarrier(host: HostEntry, nowMs: number): Barrier | null {
  const { circuit, cooldownUntilMs, pace } = host;
  if (host.hold !== null) return { cause: 'held', fallsAtMs: null };
  if (circuit.state === 'open') return openBarrier(host, nowMs);
  if (circuit.state === 'half_open' && circuit.probeUntilMs > nowMs) {
    return { cause: 'probe_in_flight', fallsAtMs: Math.max(circuit.probeUntilMs, cooldownUntilMs) };
  }
  if (cooldownUntilMs > nowMs) return { cause: 'cooldown', fallsAtMs: cooldownUntilMs };
  if (pace.reopening === 1 && pace.scoutUntilMs > nowMs) {
    return { cause: 'probe_in_flight', fallsAtMs: pace.scoutUntilMs };
  }
  return null;
}

/** The probe waits for the open time, the cooldown, and the last request from before. */
function openBarrier({ circuit, cooldownUntilMs, leases }: HostEntry, nowMs: number): Barrier | null {
  if (circuit.openUntilMs > nowMs) {
    return { cause: 'circuit_open', fallsAtMs: Math.max(circuit.openUntilMs, cooldownUntilMs) };
  }
  if (cooldownUntilMs > nowMs) return { cause: 'cooldown', fallsAtMs: cooldownUntilMs };
  // A reserved slot stands under the plain job id: nothing is in flight for it.
  const inFlight = leases.after(nowMs).find((member) => member.includes('.'));
  const busyUntilMs = inFlight === undefined ? undefined : leases.score(inFlight);
  return busyUntilMs === undefined ? null : { cause: 'circuit_open', fallsAtMs: busyUntilMs };
}

/** True while the next admitted request is to be the only one: a probe, or the scout after a cooldown. */
export function takesOneOnly(host: HostEntry): boolean {
  return host.circuit.state !== 'closed' || host.pace.reopening === 1;
}

export function liveLeases(host: HostEntry, nowMs: number): number {
  return host.leases.size - host.leases.countUpTo(nowMs);
}
