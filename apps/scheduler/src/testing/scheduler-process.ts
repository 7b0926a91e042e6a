import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

type Line = Readonly<Record<string, unknown>>;

/** A scheduler as a process of its own, run from its sources. */
export interface SchedulerProcess {
  readonly child: ChildProcess;
  readonly lines: readonly Line[];
  /** Resolves to the first line with this message. Rejects when the process ends without it. */
  saw(message: string): Promise<Line>;
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
  /** Sends the signal and resolves to the exit code; null: ended by the signal. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  ended(): Promise<number | null>;
}

export function startSchedulerProcess(settings: Readonly<Record<string, string>>): SchedulerProcess {
  const child = spawn(process.execPath, ['--conditions=holdoff-source', MAIN], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Nothing of this process's own settings.
    env: { METRICS_PORT: '0', ...settings },
  });
  const lines: Line[] = [];
  const exit = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  let rest = '';
  child.stdout.on('data', (data: Buffer) => {
    const parts = (rest + data.toString()).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part) as Line);
    child.emit('line');
  });
  const find = (message: string): Line | undefined => lines.find(({ msg }) => msg === message);
  const saw = async (message: string): Promise<Line> => {
    for (;;) {
      const line = find(message);
      if (line !== undefined) return line;
      const isOver = await Promise.race([once(child, 'line').then(() => false), exit.then(() => true)]);
      if (isOver && find(message) === undefined)
        throw new Error(`ended without "${message}": ${JSON.stringify(lines)}`);
    }
  };
  return {
    child,
    lines,
    saw,
    get: async (path) => {
      const { metricsPort } = await saw('started');
      const response = await fetch(`http://127.0.0.1:${String(metricsPort)}${path}`);
      return { status: response.status, body: await response.text() };
    },
    end: (signal) => {
      child.kill(signal);
      return exit;
    },
    ended: () => exit,
  };
}
