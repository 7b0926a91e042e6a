import { once } from 'node:events';
import { type Socket, createConnection, createServer } from 'node:net';

/** Stands between a client and its server, and can lose an answer: the question arrives, the answer does not. */
export interface CuttingProxy {
  readonly port: number;
  /** Drops the next answer and the connection with it. */
  cutNextAnswer(): void;
  stop(): Promise<void>;
}

export async function startCuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let cutting = false;
  const proxy = createServer((client) => {
    const server = createConnection({ port: serverPort, host: '127.0.0.1' });
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (data) => server.write(data));
    server.on('data', (data) => {
      if (!cutting) {
        client.write(data);
        return;
      }
      cutting = false;
      client.destroy();
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutNextAnswer: () => {
      cutting = true;
    },
    stop: async () => {
      for (const socket of open) socket.destroy();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}
