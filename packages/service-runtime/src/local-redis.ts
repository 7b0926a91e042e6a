import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/**
 * A Redis or Valkey server of our own on the loopback interface: the store of a run on one machine, and of
 * tests. Ends with this process's orders only; data stays in `dataDir` when one is given.
 */
export interface LocalRedis {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly pid: () => number;
  /** Saves and ends. */
  stop(): Promise<void>;
  /** kill -9, as a crash would. */
  kill(): Promise<void>;
  /** Starts again on the same port and data. */
  restart(): Promise<void>;
}

export interface LocalRedisOptions {
  /** Path of the server binary; default: `redis-server` or `valkey-server` on the PATH. */
  readonly binary?: string;
  readonly searchPath: string;
  /** 0 or absent: a free port. */
  readonly port?: number;
  /** Kept after the end; absent: a temporary folder that is removed. */
  readonly dataDir?: string;
  /** Append-only file, fsync every second. */
  readonly persistent: boolean;
  readonly extraArguments?: readonly string[];
}

const READY_WITHIN_MS = 10_000;

/** The first server binary on `searchPath`, or undefined. */
export async function findRedisBinary(searchPath: string): Promise<string | undefined> {
  for (const name of ['valkey-server', 'redis-server']) {
    for (const folder of [...searchPath.split(delimiter), '/usr/bin', '/usr/local/bin']) {
      const candidate = join(folder || '.', name);
      const usable = await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (usable) return candidate;
    }
  }
  return undefined;
}

export async function startLocalRedis(options: LocalRedisOptions): Promise<LocalRedis> {
  const binary = options.binary ?? (await findRedisBinary(options.searchPath));
  if (binary === undefined) {
    throw new Error(
      'No redis-server or valkey-server on the PATH. Install one, or name a server with REDIS_URL.',
    );
  }
  const port = options.port ?? (await freePort());
  const temporary = options.dataDir === undefined;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'holdoff-redis-')));
  await mkdir(dataDir, { recursive: true });

  const launch = (): ChildProcess =>
    spawn(
      binary,
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        dataDir,
        '--daemonize',
        'no',
        '--maxmemory-policy',
        'noeviction',
        '--hz',
        '100',
        '--save',
        '',
        ...(options.persistent
          ? ['--appendonly', 'yes', '--appendfsync', 'everysec']
          : ['--appendonly', 'no']),
        ...(options.extraArguments ?? []),
      ],
      // A process group of its own: Ctrl-C in the terminal reaches us, and we end the store last.
      { stdio: 'ignore', detached: true },
    );
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  };

  let child = launch();
  await untilReady(child, port, binary);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    dataDir,
    pid: () => child.pid ?? 0,
    stop: async () => {
      await end('SIGTERM');
      if (temporary) await rm(dataDir, { recursive: true, force: true });
    },
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGTERM');
      child = launch();
      await untilReady(child, port, binary);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  server.close();
  await once(server, 'close');
  return port;
}

/** Answers PING with +PONG: connected and past loading its data. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const finish = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')));
    socket.once('error', () => finish(false));
    socket.setTimeout(500, () => finish(false));
  });
}

async function untilReady(child: ChildProcess, port: number, binary: string): Promise<void> {
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(
        `${binary} ended at once (exit ${child.exitCode ?? child.signalCode}). Is port ${port} in use?`,
      );
    }
    if (await answersPing(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${binary} did not answer on port ${port} within ${READY_WITHIN_MS} ms.`);
}
