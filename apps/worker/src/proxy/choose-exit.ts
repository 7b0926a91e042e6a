import { createHash } from 'node:crypto';
import type { HostKey } from '@holdoff/throttle-core';
import type { ProxyExit } from './exit-pool.ts';

/** One line of the proxy plan; the first that matches decides. */
export interface ExitRule {
  /** Exact host, `*.suffix`, or `*`. */
  readonly host: string;
  /** A batch's name; null: any. */
  readonly batch: string | null;
  /** Names of proxies; empty: go out directly. */
  readonly proxies: readonly string[];
  /** host: all jobs of a batch for one host share an exit. job: each job keeps one of its own. none: no session. */
  readonly sticky: 'host' | 'job' | 'none';
}

export interface ExitQuestion {
  readonly host: string;
  readonly batch: string;
  readonly job: string;
}

/**
 * Which exit a job uses. Depends on the plan and on who asks, on nothing else: not on the attempt, not on what the
 * server answered. So an exit is never changed to get around a limit, and a retry leaves by the same door.
 * null: directly.
 */
export function chooseExit(plan: readonly ExitRule[], question: ExitQuestion): ProxyExit | null {
  const rule = plan.find(
    ({ host, batch }) => matchesHost(host, question.host) && (batch === null || batch === question.batch),
  );
  if (rule === undefined) return null;
  const session = sessionOf(rule.sticky, question);
  const proxy = pick(rule.proxies, session ?? question.job);
  return proxy === undefined ? null : { proxy, session };
}

/** A host as seen through one exit, for policies whose limits are per exit address. */
export function hostKeyThrough(host: HostKey, exit: ProxyExit | null): HostKey {
  return exit === null ? host : (`${host}:via:${exit.proxy}` as HostKey);
}

function sessionOf(sticky: ExitRule['sticky'], { host, batch, job }: ExitQuestion): string | null {
  switch (sticky) {
    case 'host':
      return `${batch} ${host}`;
    case 'job':
      return job;
    case 'none':
      return null;
  }
}

/** Rendezvous hashing: a proxy that leaves the list moves only its own jobs. */
function pick(proxies: readonly string[], key: string): string | undefined {
  const weight = (proxy: string): string => createHash('sha256').update(`${proxy}\n${key}`).digest('hex');
  return proxies.toSorted((a, b) => (weight(a) < weight(b) ? 1 : -1))[0];
}

function matchesHost(pattern: string, host: string): boolean {
  if (pattern === '*') return true;
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : pattern === host;
}
