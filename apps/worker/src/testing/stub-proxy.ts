import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, type Server, Socket } from 'node:net';

export interface StubProxy {
  readonly url: string;
  /** Where it was asked to connect to, in order, as written in the request. */
  readonly asked: string[];
  /** Credentials it was given, `user:password`. */
  readonly credentials: string[];
  readonly open: () => number;
  close(): Promise<void>;
}

/** What an HTTP proxy does with a CONNECT: opens the tunnel, or says something else on the socket. */
/** no_tunnels: it refuses CONNECT and forwards plain requests only. */
export type OnConnect = 'tunnel' | 'no_tunnels' | ((socket: Socket) => void);

/** Tunnels end at 127.0.0.1 on the port that was asked for, whatever the name: the tests' origins are there. */
export async function httpProxy(onConnect: OnConnect = 'tunnel'): Promise<StubProxy> {
  const asked: string[] = [];
  const credentials: string[] = [];
  const learn = (given: string | undefined): void => {
    if (given !== undefined) credentials.push(Buffer.from(given.slice(6), 'base64').toString());
  };
  // A plain request in absolute form is forwarded, as most proxies do.
  const proxy = createHttpServer((request, response) => {
    asked.push(request.url ?? '');
    learn(request.headers['proxy-authorization']);
    if (onConnect === 'no_tunnels' || onConnect === 'tunnel') forward(request, response);
    else onConnect(response.socket ?? new Socket());
  });
  const state = watch(proxy);
  proxy.on('connect', (request, stream) => {
    const socket = stream as Socket;
    socket.on('error', () => socket.destroy());
    asked.push(request.url ?? '');
    learn(request.headers['proxy-authorization']);
    if (onConnect === 'no_tunnels')
      socket.end('HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n');
    else if (onConnect !== 'tunnel') {
      socket.on('end', () => socket.end()).resume();
      onConnect(socket);
    } else join(socket, Number(/:(\d+)$/u.exec(request.url ?? '')?.[1]), 'HTTP/1.1 200 OK\r\n\r\n');
  });
  return listening(proxy, 'http', { asked, credentials, ...state });
}

/** A SOCKS5 proxy (RFC 1928). `login` set: it wants that user and password (RFC 1929). `reply`: 0 lets through. */
export async function socksProxy(login: string | null, reply = 0): Promise<StubProxy> {
  const asked: string[] = [];
  const credentials: string[] = [];
  const proxy = createServer((socket) => {
    let step: 'hello' | 'login' | 'request' = 'hello';
    socket.on('error', () => socket.destroy());
    const onData = (data: Buffer): void => {
      if (step === 'hello') {
        step = login === null ? 'request' : 'login';
        socket.write(Buffer.from([5, login === null ? 0 : 2]));
      } else if (step === 'login') {
        const user = data.toString('utf8', 2, 2 + (data[1] ?? 0));
        const password = data.toString('utf8', 3 + user.length);
        credentials.push(`${user}:${password}`);
        const right = `${user}:${password}` === login;
        step = 'request';
        socket.write(Buffer.from([1, right ? 0 : 1]));
        if (!right) socket.end();
      } else {
        socket.off('data', onData);
        const { host, port } = readTarget(data);
        asked.push(`${host}:${port}`);
        const answer = Buffer.from([5, reply, 0, 1, 127, 0, 0, 1, 0, 0]);
        if (reply === 0) join(socket, port, answer);
        else socket.end(answer);
      }
    };
    socket.on('data', onData);
  });
  return listening(proxy, 'socks5', { asked, credentials, ...watch(proxy) });
}

function forward(request: IncomingMessage, response: ServerResponse): void {
  const { port, pathname, search } = new URL(request.url ?? '');
  const { 'proxy-authorization': _, ...headers } = request.headers;
  const onward = httpRequest({ host: '127.0.0.1', port, path: pathname + search, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  onward.end();
}

function readTarget(data: Buffer): { readonly host: string; readonly port: number } {
  const length = data[4] ?? 0;
  return data[3] === 3
    ? { host: data.toString('utf8', 5, 5 + length), port: data.readUInt16BE(5 + length) }
    : { host: [...data.subarray(4, 8)].join('.'), port: data.readUInt16BE(8) };
}

function join(client: Socket, port: number, greeting: string | Buffer): void {
  const origin = connect(port, '127.0.0.1', () => {
    client.write(greeting);
    client.pipe(origin).pipe(client);
  });
  origin.on('error', () => client.destroy());
  origin.on('close', () => client.destroy());
  client.on('close', () => origin.destroy());
}

function watch(server: Server): { readonly sockets: Set<Socket> } {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  return { sockets };
}

async function listening(
  server: Server,
  scheme: string,
  state: { asked: string[]; credentials: string[]; sockets: Set<Socket> },
): Promise<StubProxy> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `${scheme}://127.0.0.1:${port}`,
    asked: state.asked,
    credentials: state.credentials,
    open: () => state.sockets.size,
    close: async () => {
      for (const socket of state.sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
