import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ServiceSpec {
  readonly name: string;
  /** The module that the process runs. */
  readonly modulePath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly logFile: string;
}

export interface SupervisorOptions {
  /** A service that ends by itself is started again at most this often in the whole run. */
  readonly restartsMax: number;
  readonly restartDelayMs: number;
  /** How long a service may take to end after SIGTERM before it is killed. */
  readonly stopWithinMs: number;
  readonly baseEnvironment: NodeJS.ProcessEnv;
  readonly onRestart: (name: string, exit: string) => void;
  /** Who is running, each time that changes. */
  readonly onProcesses: (pids: readonly number[]) => void;
  /** A service ended too often: the run cannot go on. */
  readonly onGiveUp: (name: string, exit: string) => void;
}

interface Running {
  readonly spec: ServiceSpec;
  readonly log: WriteStream;
  child: ChildProcess;
  /** How it ended, for people. */
  ended: Promise<string>;
  restarts: number;
}

/**
 * Runs the scheduler and the workers of a one-machine run as child processes, and brings back those that die. They
 * are in process groups of their own, so if this process exits without `stop` (a second Ctrl-C), it kills them.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #services: Running[] = [];
  readonly #onExit = (): void => {
    for (const { child } of this.#services) child.kill('SIGKILL');
  };
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    process.on('exit', this.#onExit);
  }

  start(spec: ServiceSpec): void {
    const log = createWriteStream(spec.logFile, { flags: 'a' });
    const child = this.#launch(spec, log);
    const service: Running = { spec, log, child, ended: endOf(child), restarts: 0 };
    // A log that cannot be written (disk full, folder gone) is no reason to end a run. What it would have taken is
    // read on, or a service would block once the pipe is full.
    log.on('error', () => discardOutput(service.child));
    this.#services.push(service);
    this.#tellProcesses();
    void this.#watch(service);
  }

  /** SIGTERM to all at once; resolves when all have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#services.map((service) => this.#end(service)));
    for (const service of this.#services) service.log.end();
    process.off('exit', this.#onExit);
  }

  #launch(spec: ServiceSpec, log: WriteStream): ChildProcess {
    const child = spawn(process.execPath, ['--enable-source-maps', spec.modulePath], {
      env: { ...this.#options.baseEnvironment, ...spec.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Own process group: Ctrl-C reaches the CLI alone, which stops the services in order.
      detached: true,
    });
    if (log.destroyed) discardOutput(child);
    else for (const output of [child.stdout, child.stderr]) output?.pipe(log, { end: false });
    return child;
  }

  async #watch(service: Running): Promise<void> {
    for (;;) {
      const exit = await service.ended;
      this.#tellProcesses();
      if (this.#stopping) return;
      if (service.restarts >= this.#options.restartsMax) {
        this.#options.onGiveUp(service.spec.name, exit);
        return;
      }
      service.restarts += 1;
      this.#options.onRestart(service.spec.name, exit);
      await delay(this.#options.restartDelayMs);
      if (this.#stopping) return;
      service.child = this.#launch(service.spec, service.log);
      service.ended = endOf(service.child);
      this.#tellProcesses();
    }
  }

  #tellProcesses(): void {
    const running = this.#services.filter(
      ({ child }) => child.exitCode === null && child.signalCode === null,
    );
    this.#options.onProcesses(running.flatMap(({ child }) => child.pid ?? []));
  }

  async #end({ child, ended }: Running): Promise<void> {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#options.stopWithinMs);
    await ended;
    clearTimeout(timer);
  }
}

function discardOutput({ stdout, stderr }: ChildProcess): void {
  for (const output of [stdout, stderr]) output?.resume();
}

/** A process that could not be started (no memory, too many processes) says `error` and never `exit`. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`));
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) resolve(`not started: ${error.code ?? error.message}`);
    });
  });
}
