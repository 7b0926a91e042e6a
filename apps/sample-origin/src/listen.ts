import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { HostDescription } from './description.ts';

/** One address and the hosts that answer on it. */
export interface Site {
  readonly address: string;
  readonly hosts: readonly HostDescription[];
}

const FREE_PORT_TRIES = 20;

/**
 * One listening socket per address, all on the same port: the socket says which host is meant without a
 * look-up, and nothing is reachable from outside the machine. (A socket on 0.0.0.0 would save the sockets and
 * cost that.) With port 0 the first address picks one; if another address has it in use, all try again.
 */
export async function listenEverywhere(
  sites: readonly Site[],
  { port, connectionsMax }: { readonly port: number; readonly connectionsMax: number },
): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const servers = sites.map((site) => createSiteServer(site, connectionsMax));
    try {
      const chosen = await listenAll(servers, sites, port);
      return { servers, port: chosen };
    } catch (error) {
      await Promise.all(servers.map(closeServer));
      const inUse = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (port !== 0 || !inUse || attempt >= FREE_PORT_TRIES) throw error;
    }
  }
}

function createSiteServer(site: Site, connectionsMax: number): Server {
  const keepAlive = site.hosts[0]?.keepAlive ?? { idleMs: 60_000, requestsMax: 0 };
  const server = createServer({
    keepAliveTimeout: keepAlive.idleMs,
    keepAliveTimeoutBuffer: 0,
    // The page a client wants may take for ever here; its own budget has to end that, not ours.
    requestTimeout: 0,
    headersTimeout: 0,
    noDelay: true,
    maxHeaderSize: 64 * 1024,
  });
  server.maxRequestsPerSocket = keepAlive.requestsMax;
  server.maxConnections = connectionsMax;
  return server;
}

async function listenAll(servers: readonly Server[], sites: readonly Site[], port: number): Promise<number> {
  let chosen = port;
  for (const [at, server] of servers.entries()) {
    server.listen({ port: chosen, host: sites[at]?.address ?? '127.0.0.1', backlog: 1024 });
    await once(server, 'listening');
    const address = server.address();
    if (typeof address === 'object' && address !== null) chosen = address.port;
  }
  return chosen;
}

export async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
