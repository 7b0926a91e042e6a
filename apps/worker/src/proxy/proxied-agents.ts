import type { Agent as HttpAgent, ClientRequest } from 'node:http';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressGuard } from '../guard/address-guard.ts';
import {
  type AgentPair,
  type Connect,
  type ConnectOptions,
  createBoundedAgents,
  type OnCreate,
} from '../guard/bounded-agents.ts';
import { AddressNotAllowedError, checkedAddresses } from '../guard/checked-addresses.ts';
import type { PoolLimits } from '../guard/pool-limits.ts';
import type { Resolve } from '../guard/resolver.ts';
import { openTunnel, proxyAuthorization, reachProxy, type TunnelTarget } from './open-tunnel.ts';
import type { Credentials, Proxy } from './proxy-settings.ts';

/** Who carries the connection, and what is checked before. */
export interface ProxiedRoute {
  readonly proxy: Proxy;
  readonly credentials: Credentials | null;
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  /** Ends tunnels that are being opened. */
  readonly closed: AbortSignal;
}

/**
 * Agents that go through one proxy. For https, and by default for http too, sockets are tunnels: what comes out is the
 * destination's. A proxy that forwards plain http is spoken to itself instead (RFC 9112 §3.2.2).
 */
export function createProxiedAgents(unopened: Omit<ProxiedRoute, 'closed'>, limits: PoolLimits): AgentPair {
  const closing = new AbortController();
  const route = { ...unopened, closed: closing.signal };
  const forwards = route.proxy.plainHttp === 'forward';
  const agents = createBoundedAgents(limits, securely(route), forwards ? forwarded(route) : plainly(route));
  if (forwards) askInAbsoluteForm(agents.http, route.credentials);
  return {
    ...agents,
    destroy: () => {
      closing.abort();
      agents.destroy();
    },
  };
}

/** TLS runs inside the tunnel, with the destination's name: the proxy sees neither page nor address bar. */
function securely(route: ProxiedRoute): Connect {
  return (options, open, onCreate) =>
    handOver(tunnelTo(route, options), onCreate, (socket) => open({ ...options, socket } as ConnectOptions));
}

function plainly(route: ProxiedRoute): Connect {
  return (options, _open, onCreate) => handOver(tunnelTo(route, options), onCreate, (socket) => socket);
}

function forwarded(route: ProxiedRoute): Connect {
  return (options, _open, onCreate) => {
    const reached = checkedTarget(route, options.host ?? '', Number(options.port ?? 0)).then(() =>
      reachProxy(route.proxy, route.closed),
    );
    return handOver(reached, onCreate, (socket) => socket);
  };
}

/** The request line names the whole URL, and the proxy is told who we are with each request. */
function askInAbsoluteForm(agent: HttpAgent, credentials: Credentials | null): void {
  const hooked = agent as HttpAgent & { addRequest(request: ClientRequest, options: object): void };
  const add = hooked.addRequest.bind(agent);
  hooked.addRequest = (request, options) => {
    request.path = `http://${String(request.getHeader('host'))}${request.path}`;
    for (const [name, value] of Object.entries(proxyAuthorization(credentials)))
      request.setHeader(name, value);
    add(request, options);
  };
}

function handOver(
  tunnel: Promise<Socket>,
  onCreate: OnCreate | undefined,
  wrap: (socket: Socket) => Duplex | null | undefined,
): undefined {
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
