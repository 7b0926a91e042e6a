import type { FaultPhase } from '@holdoff/throttle-core';
import { FaultError, type FetchFault } from './fetch-fault.ts';

const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * The one clock of an exchange: a single monotonic timer over name resolution, connecting, TLS, headers, body and
 * decoding, joined with the caller's signal. It is never paused and never re-armed. Whoever waits for the network
 * registers with `onEnd`; the first end wins, and it stays the reason whatever errors follow from tearing down.
 */
export class AttemptBudget {
  phase: FaultPhase = 'queue';
  #ended: FetchFault | undefined;
  readonly #listeners = new Set<(error: FaultError) => void>();
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.#end({ kind: 'cancelled', phase: this.phase });

  constructor(budgetMs: number, signal: AbortSignal) {
    this.#signal = signal;
    this.#timer = setTimeout(
      () => this.#end({ kind: 'deadline', phase: this.phase }),
      Math.min(Math.max(0, budgetMs), TIMER_MAX_MS),
    );
    if (signal.aborted) this.#onAbort();
    else if (budgetMs <= 0) this.#end({ kind: 'deadline', phase: this.phase });
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** The fault that ended the exchange; undefined: time is left. */
  get ended(): FetchFault | undefined {
    return this.#ended;
  }

  /** Called once, at once when it is over already. The returned function takes the listener back. */
  onEnd(listener: (error: FaultError) => void): () => void {
    if (this.#ended !== undefined) {
      listener(new FaultError(this.#ended));
      return () => undefined;
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#listeners.clear();
  }

  #end(fault: FetchFault): void {
    if (this.#ended !== undefined) return;
    this.#ended = fault;
    const listeners = [...this.#listeners];
    this.dispose();
    for (const listener of listeners) listener(new FaultError(fault));
  }
}
