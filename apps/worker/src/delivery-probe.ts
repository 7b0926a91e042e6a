/**
 * Tries a write every `everyMs` after a delivery fault until one succeeds, then says so. One at a time: a place that
 * hangs is not asked again before it has answered.
 */
export class DeliveryProbe {
  readonly #probe: () => Promise<void>;
  readonly #onFault: () => void;
  readonly #onHealed: () => void;
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #trying = false;

  constructor(options: {
    readonly probe: () => Promise<void>;
    readonly onFault: () => void;
    readonly onHealed: () => void;
    readonly everyMs: number;
  }) {
    this.#probe = options.probe;
    this.#onFault = options.onFault;
    this.#onHealed = options.onHealed;
    this.#everyMs = options.everyMs;
  }

  fault(): void {
    this.#onFault();
    this.#timer ??= setInterval(() => void this.#try(), this.#everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #try(): Promise<void> {
    if (this.#trying) return;
    this.#trying = true;
    try {
      await this.#probe();
    } catch {
      return;
    } finally {
      this.#trying = false;
    }
    if (this.#timer === undefined) return;
    this.stop();
    this.#onHealed();
  }
}
