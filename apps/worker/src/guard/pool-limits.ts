import type { Agent, AgentOptions } from 'node:http';

export interface PoolLimits {
  /** Open sockets to one origin, in use or idle; a further request waits within its own budget. */
  readonly perOriginMax: number;
  /** As many as can be in use: a smaller pool makes busy hosts pay for a new connection with every second request. */
  readonly idlePerOriginMax: number;
  /** Idle sockets over all origins of one agent. */
  readonly idleMax: number;
  /** An idle socket is closed by us after this, before the shortest common server limit (5 s) is reached. */
  readonly idleMs: number;
}

export const DEFAULT_POOL: PoolLimits = {
  perOriginMax: 64,
  idlePerOriginMax: 64,
  idleMax: 1_024,
  idleMs: 4_000,
};

/** No socket is kept or taken over: every request gets a new one. */
export const NO_POOL: PoolLimits = { perOriginMax: Infinity, idlePerOriginMax: 0, idleMax: 0, idleMs: 0 };

export function agentOptions(limits: PoolLimits): AgentOptions {
  if (limits.idleMax === 0) return { keepAlive: false };
  return {
    keepAlive: true,
    maxSockets: limits.perOriginMax,
    maxFreeSockets: limits.idlePerOriginMax,
    timeout: limits.idleMs,
    scheduling: 'lifo',
  };
}

export function idleCount(agent: Agent): number {
  let count = 0;
  for (const sockets of Object.values(agent.freeSockets)) count += sockets?.length ?? 0;
  return count;
}

/** Sockets of the agent, in use or idle; Node counts them itself and its typings do not say so. */
export function openCount(agent: Agent): number {
  return (agent as Agent & { readonly totalSocketCount: number }).totalSocketCount;
}
