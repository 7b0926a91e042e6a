import type { Route } from '@holdoff/throttle-core';
import type { AgentPair } from './direct-agents.ts';

/** One way out to the network: directly, or through one proxy under one session. */
export interface Exit {
  /** Agents that reuse sockets. */
  readonly pooled: AgentPair;
  /** Agents that never do, for the replay of a request whose reused socket was stale. */
  readonly fresh: AgentPair;
  readonly route: Extract<Route, 'direct' | 'tunnel'>;
}

export function closeExit({ pooled, fresh }: Exit): void {
  pooled.destroy();
  fresh.destroy();
}
