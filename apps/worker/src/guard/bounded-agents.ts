import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { agentOptions, idleCount, openCount, type PoolLimits } from './pool-limits.ts';

/** The two agents of one route to the network, as got takes them. */
export interface AgentPair {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Ends all sockets, idle and in use. */
  destroy(): void;
}

export type ConnectOptions = Parameters<HttpAgent['createConnection']>[0];
export type OnCreate = (error: Error | null, stream: Duplex) => void;
/** What the agent itself does: opens a TCP or TLS connection, or puts TLS onto `options.socket`. */
export type Open = (options: ConnectOptions) => Duplex | null | undefined;
/** Opens the connection for one request: returns it, or hands it to `onCreate` later. */
export type Connect = (
  options: ConnectOptions,
  open: Open,
  onCreate: OnCreate | undefined,
) => Duplex | null | undefined;

/** Agents for http and https whose connections are made by `connect`, and of which only so many stay open idle. */
export function createBoundedAgents(
  limits: PoolLimits,
  connect: Connect,
  connectPlain: Connect = connect,
): AgentPair {
  const http = bounded(new HttpAgent(agentOptions(limits)), limits.idleMax, connectPlain);
  const https = bounded(new HttpsAgent(agentOptions(limits)), limits.idleMax, connect);
  return {
    http,
    https,
    destroy: () => {
      http.destroy();
      https.destroy();
    },
  };
}

function bounded<A extends HttpAgent>(agent: A, idleMax: number, connect: Connect): A {
  const open: Open = agent.createConnection.bind(agent);
  const keep = agent.keepSocketAlive.bind(agent);
  agent.createConnection = (options, onCreate) => connect(options, open, onCreate);
  // When all places are taken the newest has none: of more hosts than places, asked in turn, some keep their sockets,
  // where making room would leave none of them one. Node's typings say void; the agent reads a boolean.
  agent.keepSocketAlive = (socket) =>
    ((openCount(agent) <= idleMax || idleCount(agent) < idleMax) && keep(socket)) as unknown as void;
  return agent;
}
