/** A clock that moves when told. */
export class ManualClock {
  #nowMs: number;

  constructor(startMs = 1_700_000_000_000) {
    this.#nowMs = startMs;
  }

  readonly now = (): number => this.#nowMs;

  advance(ms: number): number {
    this.#nowMs += ms;
    return this.#nowMs;
  }
}
