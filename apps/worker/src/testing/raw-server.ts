import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** A TCP server on the loopback that says exactly what a test tells it to, however wrong, and keeps count. */
export interface RawServer {
  readonly port: number;
  readonly origin: string;
  /** Connections accepted so far. */
  readonly accepted: () => number;
  /** Connections open now. */
  readonly open: () => number;
  /** The first lines of all requests seen, in order. */
  readonly requestLines: string[];
  /** Whole heads of all requests seen. */
  readonly heads: string[];
  close(): Promise<void>;
}

/** Called for each request head; `turn` counts requests on the server from 0. */
export type Say = (socket: Socket, head: string, turn: number) => void;

export async function rawServer(say: Say, tls?: TlsOptions): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const heads: string[] = [];
  const requestLines: string[] = [];
  let accepted = 0;
  const onSocket = (socket: Socket): void => {
    accepted += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let seen = '';
    socket.on('data', (chunk) => {
      seen += chunk.toString('latin1');
      for (let end = seen.indexOf('\r\n\r\n'); end !== -1; end = seen.indexOf('\r\n\r\n')) {
        const head = seen.slice(0, end);
        seen = seen.slice(end + 4);
        heads.push(head);
        requestLines.push(head.split('\r\n', 1)[0] ?? '');
        say(socket, head, heads.length - 1);
      }
    });
  };
  const server: Server = tls === undefined ? createServer(onSocket) : createTlsServer(tls, onSocket);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    port,
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    accepted: () => accepted,
    open: () => sockets.size,
    heads,
    requestLines,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A whole answer with a correct length. */
export function answer(status: string, headers: readonly string[], body: Buffer | string = ''): Buffer {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
  const lines = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${bytes.length}`, '', ''];
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), bytes]);
}
