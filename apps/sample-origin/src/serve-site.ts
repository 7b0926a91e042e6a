import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { handleRequest, type RequestParts } from './handle-request.ts';
import type { Site } from './listen.ts';
import type { OriginHost } from './origin-host.ts';

/** Hands each request of a site to its host: the only one there, or the one that the Host header names. */
export function serveSite(
  server: Server,
  site: Site,
  here: readonly OriginHost[],
  parts: RequestParts,
): void {
  const only = here.length === 1 ? here[0] : undefined;
  const byName = new Map(here.map((host) => [host.description.name, host]));
  const hostOf = (request: IncomingMessage): OriginHost | undefined => {
    const name = (request.headers.host ?? '').toLowerCase().replace(/:\d*$/, '');
    return byName.get(name) ?? (name === site.address ? here[0] : undefined);
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const host = only ?? hostOf(request);
    if (host !== undefined) {
      handleRequest(request, response, host, parts);
      return;
    }
    response.writeHead(421, { 'Content-Type': 'text/plain' });
    response.end('No host of that name answers on this address.\n');
  });
  // Which host a connection is meant for is known only with its first request; the first host stands for all.
  const first = here[0];
  server.on('connection', (socket) => {
    if (first === undefined) return;
    first.connections += 1;
    socket.once('close', () => {
      first.connections -= 1;
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
}
