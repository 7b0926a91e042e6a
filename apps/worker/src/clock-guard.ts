/**
 * Compares this machine's clock with the gate's. The queue promotes delayed jobs on the workers' clocks, so a
 * worker that is an hour fast would run everything at once: it pauses and says so instead.
 */
export interface ClockGuardOptions {
  readonly gateNow: () => Promise<number>;
  readonly wallNow: () => number;
  readonly monotonicMs: () => number;
  readonly skewMaxMs: number;
  readonly onChange: (state: ClockState) => void;
}

export interface ClockState {
  readonly ok: boolean;
  /** Positive: this machine is ahead of the gate. */
  readonly skewMs: number;
}

export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #state: ClockState | undefined;
  #timer: NodeJS.Timeout | undefined;
  #suspecting = false;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  get state(): ClockState {
    return this.#state ?? { ok: false, skewMs: 0 };
  }

  /** Checks once and then every `everyMs`. A check that cannot reach the gate changes nothing. */
  async start(everyMs: number): Promise<void> {
    await this.check();
    this.#timer = setInterval(() => void this.check().catch(() => undefined), everyMs);
    this.#timer.unref();
  }

  /**
   * Checks now if an answer of the gate does not go with this machine's clock. Until the next check a clock that jumped
   * ahead would have the queue bring every delayed job at once, again and again.
   */
  suspect(gateMs: number): void {
    const { wallNow, skewMaxMs } = this.#options;
    if (this.#suspecting || !this.state.ok || Math.abs(wallNow() - gateMs) <= skewMaxMs) return;
    this.#suspecting = true;
    void this.check()
      .catch(() => undefined)
      .finally(() => (this.#suspecting = false));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async check(): Promise<ClockState> {
    const { gateNow, wallNow, monotonicMs, skewMaxMs, onChange } = this.#options;
    const askedAt = monotonicMs();
    const gateMs = await gateNow();
    const roundTripMs = monotonicMs() - askedAt;
    // The answer was made somewhere within the round trip: what the trip explains is not skew.
    const differenceMs = wallNow() - roundTripMs / 2 - gateMs;
    const skewMs = Math.sign(differenceMs) * Math.max(0, Math.abs(differenceMs) - roundTripMs / 2);
    const state = { ok: Math.abs(skewMs) <= skewMaxMs, skewMs };
    const changed = this.#state?.ok !== state.ok;
    this.#state = state;
    if (changed) onChange(state);
    return state;
  }
}
