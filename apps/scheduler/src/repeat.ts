import { Pause } from './pause.ts';

/**
 * Does something again and again, one after another, `everyMs` apart. A failure is told and the next turn comes
 * all the same.
 */
export class Repeat {
  readonly #pause = new Pause();
  #running: Promise<void> | undefined;

  start(everyMs: number, work: () => Promise<void>, onError: (error: unknown) => void): void {
    this.#running ??= this.#run(everyMs, work, onError);
  }

  async stop(): Promise<void> {
    this.#pause.end();
    await this.#running;
  }

  async #run(everyMs: number, work: () => Promise<void>, onError: (error: unknown) => void): Promise<void> {
    while (!this.#pause.ended) {
      try {
        await work();
      } catch (error) {
        onError(error);
      }
      await this.#pause.for(everyMs);
    }
  }
}
