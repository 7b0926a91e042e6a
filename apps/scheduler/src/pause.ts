/** A wait that can be ended from outside: the one way in which a loop of this app sleeps. */
export class Pause {
  #ended = false;
  #wake: (() => void) | undefined;

  get ended(): boolean {
    return this.#ended;
  }

  async for(waitMs: number): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Ends the present wait and every later one. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }
}
