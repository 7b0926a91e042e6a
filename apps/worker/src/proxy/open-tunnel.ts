import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect as netConnect, isIP, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { SocksClient } from 'socks';
import { FaultError, type ProxyAnswer } from '../fetch/fetch-fault.ts';
import { headerLines } from '../fetch/response-headers.ts';
import type { Credentials, Proxy } from './proxy-settings.ts';

/** What the proxy is asked to connect to: an address that was checked, or a name where the proxy resolves. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

const ANSWER_HEADER_BYTES_MAX = 16_384;

/**
 * Opens a raw connection through a proxy. Rejects with a `FaultError` that names the proxy; its code and the
 * proxy's own answer are kept, no text that could carry credentials. `signal` ends it, not the opened tunnel.
 */
export async function openTunnel(
  proxy: Proxy,
  credentials: Credentials | null,
  target: TunnelTarget,
  signal: AbortSignal,
): Promise<Socket> {
  return withProxy(proxy, signal, (socket) =>
    proxy.kind === 'http'
      ? connectOverHttp(proxy, credentials, target, socket)
      : connectOverSocks(proxy, credentials, target, socket),
  );
}

/** A connection to the proxy itself, for requests that it forwards. Rejects as `openTunnel` does. */
export function reachProxy(proxy: Proxy, signal: AbortSignal): Promise<Socket> {
  return withProxy(proxy, signal, async () => undefined);
}

async function withProxy(
  proxy: Proxy,
  signal: AbortSignal,
  prepare: (socket: Socket) => Promise<void>,
): Promise<Socket> {
  const socket = proxy.secure
    ? tlsConnect({ host: proxy.host, port: proxy.port, ...serverName(proxy.host) })
    : netConnect({ host: proxy.host, port: proxy.port });
  const timer = setTimeout(() => socket.destroy(proxyFault(proxy, 'PROXY_TIMEOUT')), proxy.connectMs);
  const close = (): void => void socket.destroy(proxyFault(proxy, 'PROXY_CLOSED'));
  if (signal.aborted) close();
  signal.addEventListener('abort', close, { once: true });
  // The tunnel's user takes over errors later; until then none may go unheard.
  socket.on('error', swallow);
  try {
    await once(socket, proxy.secure ? 'secureConnect' : 'connect').catch((error: unknown) => {
      throw asProxyFault(proxy, error, 'PROXY_CONNECT');
    });
    await prepare(socket);
    return socket;
  } catch (error) {
    socket.destroy();
    throw asProxyFault(proxy, error, 'PROXY_FAILED');
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', close);
    socket.off('error', swallow);
    if (socket.destroyed) socket.on('error', swallow);
  }
}

function swallow(): void {
  // The failure is told by the rejection.
}

/** RFC 9110 §9.3.6. Whatever status comes back, nothing but a 2xx has opened a tunnel. */
function connectOverHttp(
  proxy: Proxy,
  credentials: Credentials | null,
  target: TunnelTarget,
  socket: Socket,
): Promise<void> {
  const authority =
    isIP(target.host) === 6 ? `[${target.host}]:${target.port}` : `${target.host}:${target.port}`;
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...proxyAuthorization(credentials) },
      createConnection: () => socket,
      maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    });
    request.once('connect', (response, _socket, head: Buffer) => {
      const status = response.statusCode ?? 0;
      const answer = { status, headers: headerLines(response.rawHeaders), receivedAtMs: Date.now() };
      if (status < 200 || status > 299)
        reject(proxyFault(proxy, status === 407 ? 'PROXY_AUTH' : 'PROXY_REFUSED', answer));
      // Nobody may speak in the tunnel before we have asked for something.
      else if (head.length > 0) reject(proxyFault(proxy, 'PROXY_PROTOCOL'));
      else resolve();
    });
    request.once('error', (error) => reject(asProxyFault(proxy, error, 'PROXY_PROTOCOL')));
    request.once('close', () => reject(proxyFault(proxy, 'PROXY_CLOSED')));
    request.end();
  });
}

export function proxyAuthorization(credentials: Credentials | null): Record<string, string> {
  if (credentials === null) return {};
  const pair = Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64');
  return { 'proxy-authorization': `Basic ${pair}` };
}

/** RFC 1928, user name and password by RFC 1929. */
async function connectOverSocks(
  proxy: Proxy,
  credentials: Credentials | null,
  target: TunnelTarget,
  socket: Socket,
): Promise<void> {
  await SocksClient.createConnection({
    command: 'connect',
    proxy: {
      host: proxy.host,
      port: proxy.port,
      type: 5,
      ...(credentials === null ? {} : { userId: credentials.user, password: credentials.password }),
    },
    destination: { host: target.host, port: target.port },
    existing_socket: socket,
    timeout: proxy.connectMs,
  }).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : '';
    const code = SOCKS_CODES.find(([part]) => message.includes(part))?.[1];
    throw code === undefined ? asProxyFault(proxy, error, 'PROXY_FAILED') : proxyFault(proxy, code);
  });
}

/** The library tells its failures apart by text alone. */
const SOCKS_CODES: readonly (readonly [part: string, code: string])[] = [
  ['Authentication failed', 'PROXY_AUTH'],
  ['no accepted authentication type', 'PROXY_AUTH'],
  ['rejected connection', 'PROXY_REFUSED'],
  ['rejected', 'PROXY_REFUSED'],
  ['Socket closed', 'PROXY_CLOSED'],
  ['timed out', 'PROXY_TIMEOUT'],
  ['handshake', 'PROXY_PROTOCOL'],
];

function serverName(host: string): { servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

function proxyFault(proxy: Proxy, code: string, answer: ProxyAnswer | null = null): FaultError {
  return new FaultError({ kind: 'proxy', proxy: proxy.name, answer, code });
}

function asProxyFault(proxy: Proxy, error: unknown, fallback: string): FaultError {
  if (error instanceof FaultError) return error;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const safe = typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/u.test(code) ? code : fallback;
  return proxyFault(proxy, safe);
}
