import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';

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
  /** A service ended too often: the run cannot go on. */
  readonly onGiveUp: (name: string, exit: string) => void;
}

interface Running {
  readonly spec: ServiceSpec;
  readonly log: WriteStream;
  child: ChildProcess;
  restarts: number;
}

/** Runs the scheduler and the workers of a one-machine run as child processes, and brings back those that die. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #services: Running[] = [];
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  start(spec: ServiceSpec): void {
    const log = createWriteStream(spec.logFile, { flags: 'a' });
    const service: Running = { spec, log, child: this.#launch(spec, log), restarts: 0 };
    this.#services.push(service);
    this.#watch(service);
  }

  /** SIGTERM to all, in the order given: those started last end first. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#services.map((service) => this.#end(service)));
    for (const service of this.#services) service.log.end();
  }

  #launch(spec: ServiceSpec, log: WriteStream): ChildProcess {
    const child = spawn(process.execPath, ['--enable-source-maps', spec.modulePath], {
      env: { ...this.#options.baseEnvironment, ...spec.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Own process group: Ctrl-C reaches the CLI alone, which stops the services in order.
      detached: true,
    });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    return child;
  }

  #watch(service: Running): void {
    service.child.once('exit', (code, signal) => {
      if (this.#stopping) return;
      const exit = signal ?? `exit ${code}`;
      if (service.restarts >= this.#options.restartsMax) {
        this.#options.onGiveUp(service.spec.name, exit);
        return;
      }
      service.restarts += 1;
      this.#options.onRestart(service.spec.name, exit);
      setTimeout(() => {
        if (this.#stopping) return;
        service.child = this.#launch(service.spec, service.log);
        this.#watch(service);
      }, this.#options.restartDelayMs);
    });
  }

  async #end(service: Running): Promise<void> {
    const { child } = service;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), this.#options.stopWithinMs);
    await ended;
    clearTimeout(timer);
  }
}
