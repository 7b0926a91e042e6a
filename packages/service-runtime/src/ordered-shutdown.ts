import type { Logger } from './logger.ts';

export interface ShutdownStep {
  readonly name: string;
  /** How long it may take, ms; then the next one begins all the same. */
  readonly withinMs: number;
  /** The signal is aborted when the time is over or the stop is forced. */
  readonly run: (signal: AbortSignal) => Promise<void> | void;
}

export interface ShutdownOptions {
  readonly logger: Logger;
  /** The process; a test passes its own. */
  readonly host?: ShutdownHost;
}

/** What of `process` is needed here. */
export interface ShutdownHost {
  on(event: string, listener: (...values: never[]) => void): unknown;
  exit(code: number): void;
}

type StepResult = 'ok' | 'failed' | 'late' | 'skipped';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;
const EXIT_FATAL = 70;
const EXIT_INCOMPLETE = 1;
/** 128 + 15 and 128 + 2, as a shell reports a process that its signal ended. */
const EXIT_FORCED = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Ends a process in order: SIGTERM or SIGINT runs the steps one after another, each within its own time; a second
 * signal ends it at once. An error that nobody caught ends it at once as well, because after one nothing in
 * memory can be trusted and a crash loses nothing. Whatever happens, the last line of the log says why.
 */
export class OrderedShutdown {
  readonly #logger: Logger;
  readonly #host: ShutdownHost;
  readonly #steps: ShutdownStep[] = [];
  readonly #forced = new AbortController();
  #stopping: Promise<void> | undefined;
  #ended = false;

  constructor(options: ShutdownOptions) {
    this.#logger = options.logger;
    this.#host = options.host ?? process;
  }

  /** Steps run in the order in which they were added: stop taking, finish, release, close. */
  add(...steps: readonly ShutdownStep[]): void {
    this.#steps.push(...steps);
  }

  listen(): void {
    for (const signal of SIGNALS) this.#host.on(signal, () => this.#onSignal(signal));
    this.#host.on('uncaughtException', (error: unknown) => this.#onFatal('uncaughtException', error));
    this.#host.on('unhandledRejection', (error: unknown) => this.#onFatal('unhandledRejection', error));
  }

  /** Runs the steps once and ends the process: with `exitCode`, or 1 when a step failed or ran out of time. */
  stop(reason: string, exitCode = 0): Promise<void> {
    this.#stopping ??= this.#run(reason, exitCode);
    return this.#stopping;
  }

  get stopping(): boolean {
    return this.#stopping !== undefined;
  }

  #onSignal(signal: (typeof SIGNALS)[number]): void {
    if (this.#stopping === undefined) {
      void this.stop(signal);
      return;
    }
    this.#forced.abort(new Error(`second signal ${signal}`));
    this.#end(`${signal} again: forced`, EXIT_FORCED[signal], {});
  }

  #onFatal(event: string, error: unknown): void {
    this.#end(event, EXIT_FATAL, { error });
  }

  async #run(reason: string, exitCode: number): Promise<void> {
    this.#logger.info('stopping', { reason });
    const steps: Record<string, StepResult> = {};
    for (const step of this.#steps) steps[step.name] = await this.#runStep(step);
    const complete = Object.values(steps).every((result) => result === 'ok');
    this.#end(reason, exitCode === 0 && !complete ? EXIT_INCOMPLETE : exitCode, { steps });
  }

  async #runStep(step: ShutdownStep): Promise<StepResult> {
    if (this.#forced.signal.aborted) return 'skipped';
    let timer: NodeJS.Timeout | undefined;
    const late = new AbortController();
    const timeUp = new Promise<StepResult>((resolve) => {
      timer = setTimeout(() => {
        late.abort(new Error(`${step.name} took longer than ${step.withinMs} ms`));
        resolve('late');
      }, step.withinMs);
    });
    const work = Promise.resolve()
      .then(() => step.run(AbortSignal.any([late.signal, this.#forced.signal])))
      .then(
        (): StepResult => 'ok',
        (error: unknown): StepResult => {
          this.#logger.error('shutdown step failed', { step: step.name, error });
          return 'failed';
        },
      );
    const result = await Promise.race([work, timeUp]);
    clearTimeout(timer);
    return result;
  }

  #end(reason: string, exitCode: number, details: Readonly<Record<string, unknown>>): void {
    if (this.#ended) return;
    this.#ended = true;
    const level = exitCode === EXIT_FATAL ? 'fatal' : 'info';
    this.#logger[level]('stopped', { reason, exitCode, ...details });
    this.#logger.flush();
    this.#host.exit(exitCode);
  }
}
