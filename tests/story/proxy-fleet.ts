import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** A real proxy process on this machine. */
export interface ProxyProcess {
  readonly url: string;
  /** What it does from now on; returns all that it was asked for so far. */
  behave(mode: 'tunnel' | number): Promise<readonly string[]>;
  kill(): Promise<void>;
  /** Starts it again where it was. */
  restart(): Promise<void>;
}

const FIXTURE = new URL('fixtures/proxy-process.ts', import.meta.url).pathname;

export async function startProxy(kind: 'http' | 'socks5'): Promise<ProxyProcess> {
  let child: ChildProcess;
  let port = 0;
  const start = async (): Promise<void> => {
    child = fork(FIXTURE, [kind, String(port)], { execArgv: [] });
    const [told] = (await once(child, 'message')) as [{ port: number }];
    port = told.port;
  };
  await start();
  return {
    url: `${kind}://127.0.0.1:${port}`,
    async behave(mode) {
      const told = once(child, 'message');
      child.send({ mode });
      const [{ asked }] = (await told) as [{ asked: readonly string[] }];
      return asked;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    restart: start,
  };
}
