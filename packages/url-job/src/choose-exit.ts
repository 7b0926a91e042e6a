import { createHash } from 'node:crypto';

/** Proxies that can stand in for each other, under the name that the policy gives to hosts. */
export interface ProxyPool {
  /** At least one. */
  readonly proxies: readonly string[];
  /** host: all jobs of a batch for one host share an exit. job: each job keeps one of its own. none: no session. */
  readonly sticky: 'host' | 'job' | 'none';
}

/** Which proxy carries a request, and under which session. */
export interface ProxyExit {
  readonly proxy: string;
  /** Requests of one session leave from one address, where the proxy offers that; null: no session. */
  readonly session: string | null;
}

export interface ExitQuestion {
  readonly host: string;
  readonly batch: string;
  readonly job: string;
}

/**
 * Which exit of a pool a job uses. Depends on the pool and on who asks, on nothing else: not on the attempt, not on
 * what the server answered. So an exit is never changed to get around a limit, and a retry leaves by the same door.
 */
export function chooseExit(pool: ProxyPool, question: ExitQuestion): ProxyExit {
  const session = sessionOf(pool.sticky, question);
  const proxy = pick(pool.proxies, session ?? question.job);
  if (proxy === undefined) throw new Error('a proxy pool must have a proxy');
  return { proxy, session };
}

function sessionOf(sticky: ProxyPool['sticky'], { host, batch, job }: ExitQuestion): string | null {
  switch (sticky) {
    case 'host':
      return `${batch} ${host}`;
    case 'job':
      return job;
    case 'none':
      return null;
  }
}

/** Rendezvous hashing: a proxy that leaves the pool moves only its own jobs. */
function pick(proxies: readonly string[], key: string): string | undefined {
  const weight = (proxy: string): string => createHash('sha256').update(`${proxy}\n${key}`).digest('hex');
  return proxies.toSorted((a, b) => (weight(a) < weight(b) ? 1 : -1))[0];
}
