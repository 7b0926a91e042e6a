import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressGuard } from '../guard/address-guard.ts';
import { AddressNotAllowedError, checkedAddresses } from '../guard/checked-addresses.ts';
import type { AgentPair } from '../guard/direct-agents.ts';
import { agentOptions, idleCount, type PoolLimits } from '../guard/pool-limits.ts';
import type { Resolve } from '../guard/resolver.ts';
import { openTunnel, type TunnelTarget } from './open-tunnel.ts';
import type { Credentials, Proxy } from './proxy-settings.ts';

type ConnectOptions = Parameters<HttpAgent['createConnection']>[0];
type OnCreate = (error: Error | null, stream: Duplex) => void;

/** Who carries the connection, and what is checked before. */
export interface ProxiedRoute {
  readonly proxy: Proxy;
  readonly credentials: Credentials | null;
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  /** Ends tunnels that are being opened. */
  readonly closed: AbortSignal;
}

/** Agents whose sockets are tunnels through one proxy, for http and https alike: what comes out is the destination's. */
export function createProxiedAgents(unopened: Omit<ProxiedRoute, 'closed'>, limits: PoolLimits): AgentPair {
  const closing = new AbortController();
  const route = { ...unopened, closed: closing.signal };
  const http = new TunnelHttpAgent(route, limits);
  const https = new TunnelHttpsAgent(route, limits);
  return {
    http,
    https,
    destroy: () => {
      closing.abort();
      http.destroy();
      https.destroy();
    },
  };
}

class TunnelHttpAgent extends HttpAgent {
  readonly #route: ProxiedRoute;
  readonly #idleMax: number;

  constructor(route: ProxiedRoute, limits: PoolLimits) {
    super(agentOptions(limits));
    this.#route = route;
    this.#idleMax = limits.idleMax;
  }

  override createConnection(options: ConnectOptions, onCreate?: OnCreate): undefined {
    handOver(tunnelTo(this.#route, options), onCreate, (socket) => socket);
  }

  override keepSocketAlive(socket: Duplex): void {
    return (idleCount(this) < this.#idleMax && super.keepSocketAlive(socket)) as unknown as void;
  }
}

class TunnelHttpsAgent extends HttpsAgent {
  readonly #route: ProxiedRoute;
  readonly #idleMax: number;

  constructor(route: ProxiedRoute, limits: PoolLimits) {
    super(agentOptions(limits));
    this.#route = route;
    this.#idleMax = limits.idleMax;
  }

  override createConnection(options: ConnectOptions, onCreate?: OnCreate): undefined {
    // TLS runs inside the tunnel, with the destination's name: the proxy sees neither page nor address bar.
    handOver(tunnelTo(this.#route, options), onCreate, (socket) =>
      super.createConnection({ ...options, socket } as ConnectOptions),
    );
  }

  override keepSocketAlive(socket: Duplex): void {
    return (idleCount(this) < this.#idleMax && super.keepSocketAlive(socket)) as unknown as void;
  }
}

function handOver(
  tunnel: Promise<Socket>,
  onCreate: OnCreate | undefined,
  wrap: (socket: Socket) => Duplex | null | undefined,
): void {
  const open = async (): Promise<void> => {
    try {
      const stream = wrap(await tunnel);
      onCreate?.(null, stream as Duplex);
    } catch (error) {
      onCreate?.(error instanceof Error ? error : new Error(String(error)), undefined as never);
    }
  };
  void open();
}

async function tunnelTo(route: ProxiedRoute, options: ConnectOptions): Promise<Socket> {
  const target = await checkedTarget(route, options.host ?? '', Number(options.port ?? 0));
  return openTunnel(route.proxy, route.credentials, target, route.closed);
}

/** The guard holds through a proxy too: the proxy is told where to go by address, after the address was checked. */
async function checkedTarget(
  { proxy, guard, resolve }: ProxiedRoute,
  host: string,
  port: number,
): Promise<TunnelTarget> {
  if (proxy.resolve === 'proxy' && isIP(host) === 0) {
    if (!guard.portListed(port, host)) {
      throw new AddressNotAllowedError(`port ${port} is not in the list of allowed ports`);
    }
    return { host, port };
  }
  const addresses = await checkedAddresses(host, port, guard, resolve);
  // Far more proxies reach IPv4 than IPv6.
  return { host: addresses.find((address) => isIP(address) === 4) ?? addresses[0] ?? host, port };
}
