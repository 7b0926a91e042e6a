import type { Route } from '@holdoff/throttle-core';
import type { AgentPair } from './bounded-agents.ts';

/** One way out to the network: directly, or through one proxy under one session. */
export interface Exit {
  /** Agents that reuse sockets. */
  readonly pooled: AgentPair;
  /** Agents that never do, for the replay of a request whose reused socket was stale. */
  readonly fresh: AgentPair;
  readonly route: Extract<Route, 'direct' | 'tunnel'>;
  /** How plain http travels, where that is another way. */
  readonly plainRoute: Extract<Route, 'direct' | 'tunnel' | 'forward_proxy'>;
}

export function routeOf(exit: Exit, { protocol }: Pick<URL, 'protocol'>): Exit['plainRoute'] {
  return protocol === 'http:' ? exit.plainRoute : exit.route;
}

export function closeExit({ pooled, fresh }: Exit): void {
  pooled.destroy();
  fresh.destroy();
}
