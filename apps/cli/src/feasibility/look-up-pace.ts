import { type HostKey, type HostSnapshot, hostRulesOf, type Policy } from '@holdoff/throttle-core';
import { parsePolicyFile, type PolicyFile, resolvePolicy } from '@holdoff/throttle-core/policy-file';
import { readStoredPolicy } from '@holdoff/throttle-core/redis';
import type { RunStore } from '../run/run-store.ts';
import type { HostWork } from './forecast.ts';

export interface PaceQuestion {
  readonly deployment: string;
  readonly byHostname: ReadonlyMap<string, number>;
  /** Intervals said on the command line, ms, by host. */
  readonly given: ReadonlyMap<string, number>;
  /** Absolute; null: each host's policy decides. */
  readonly deadlineMs: number | null;
  /** Absolute; null: at once. */
  readonly notBeforeMs: number | null;
}

const LOOKS_PER_TRIP = 100;

/**
 * What the fleet knows of the hosts of a batch, and else what its policy begins with. Hosts that a policy groups are
 * one host here, as they are for the gate.
 */
export async function lookUpPace(
  store: Pick<RunStore, 'redis' | 'gate'>,
  question: PaceQuestion,
): Promise<readonly HostWork[]> {
  const file = await policyInForce(store, question.deployment);
  const hosts = new Map<HostKey, { urls: number; policy: Policy }>();
  for (const [hostname, urls] of question.byHostname) {
    const { hostKey, policy } = resolvePolicy(file, hostname);
    const known = hosts.get(hostKey);
    if (known === undefined) hosts.set(hostKey, { urls, policy });
    else known.urls += urls;
  }
  const nowMs = await store.gate.now();
  const works: HostWork[] = [];
  const all = [...hosts];
  for (let start = 0; start < all.length; start += LOOKS_PER_TRIP) {
    const page = all.slice(start, start + LOOKS_PER_TRIP);
    const snapshots = await Promise.all(page.map(([host]) => store.gate.inspectHost(host)));
    for (const [index, [host, { urls, policy }]] of page.entries())
      works.push(workOf({ host, urls, policy, snapshot: snapshots[index], nowMs }, question));
  }
  return works;
}

async function policyInForce(store: Pick<RunStore, 'redis'>, deployment: string): Promise<PolicyFile> {
  const stored = await readStoredPolicy(store.redis, deployment);
  const parsed = parsePolicyFile(stored?.text ?? '', stored?.name ?? 'balanced preset');
  if (parsed.kind === 'ok') return parsed.file;
  throw new Error('the fleet works by a policy that this version cannot read');
}

interface Known {
  readonly host: HostKey;
  readonly urls: number;
  readonly policy: Policy;
  readonly snapshot: HostSnapshot | undefined;
  readonly nowMs: number;
}

function workOf({ host, urls, policy, snapshot, nowMs }: Known, question: PaceQuestion): HostWork {
  const { jobMs } = policy.deadline;
  const opensAtMs = Math.max(
    nowMs,
    snapshot?.cooldownUntilMs ?? 0,
    snapshot?.circuit.state === 'open' ? snapshot.circuit.openUntilMs : 0,
    question.notBeforeMs ?? 0,
  );
  return {
    host,
    urls,
    ahead: snapshot?.waiting ?? 0,
    ...paceOf(policy, snapshot, question.given.get(host)),
    closedForMs: opensAtMs - nowMs,
    held: snapshot?.hold !== undefined && snapshot.hold !== null,
    deadlineInMs: question.deadlineMs === null ? jobMs : Math.max(0, question.deadlineMs - nowMs),
  };
}

function paceOf(
  policy: Policy,
  snapshot: HostSnapshot | undefined,
  given: number | undefined,
): Pick<HostWork, 'intervalMs' | 'source' | 'learning'> {
  if (given !== undefined) return { intervalMs: given, source: 'given', learning: false };
  if (snapshot !== undefined) {
    const { effectiveIntervalMs, phase, override } = snapshot.pace;
    // An override is in force at once; the effective interval says so only from the next dispatch on.
    if (override.kind === 'fixed')
      return { intervalMs: override.intervalMs, source: 'fleet', learning: false };
    if (override.kind === 'off') return { intervalMs: 0, source: 'unlimited', learning: false };
    if (effectiveIntervalMs > 0)
      return { intervalMs: effectiveIntervalMs, source: 'fleet', learning: phase === 'slow_start' };
  }
  const { paceIntervalMs, learn } = hostRulesOf(policy);
  const startMs = learn?.startIntervalMs ?? 0;
  if (startMs > paceIntervalMs) return { intervalMs: startMs, source: 'start', learning: true };
  if (paceIntervalMs > 0) return { intervalMs: paceIntervalMs, source: 'configured', learning: false };
  return { intervalMs: 0, source: 'unlimited', learning: false };
}
