import type { Worker } from 'bullmq';
import type { MetricsServer, ShutdownStep } from '@holdoff/service-runtime';
import type { WheelTimer } from '@holdoff/throttle-core';

export interface DrainParts {
  readonly graceMs: number;
  readonly server: Pick<MetricsServer, 'drain'>;
  readonly worker: Pick<Worker, 'close'>;
  readonly wheel: Pick<WheelTimer, 'stop'>;
  /** Ends every request in flight. */
  readonly cut: AbortController;
}

/** How long deliveries may take to settle once their requests were cut. */
const SETTLE_MS = 10_000;

/**
 * Takes no more, lets requests in flight finish, then cuts the rest, whose jobs go back to the queue. Nothing is
 * lost or counted twice: a cut request is settled like any other.
 */
export function drainSteps({ graceMs, server, worker, wheel, cut }: DrainParts): readonly ShutdownStep[] {
  return [
    {
      name: 'finish requests in flight',
      withinMs: graceMs + SETTLE_MS,
      run: async (signal) => {
        server.drain();
        const timer = setTimeout(() => cut.abort(new Error('shutdown')), graceMs);
        signal.addEventListener('abort', () => cut.abort(new Error('forced shutdown')), { once: true });
        await worker.close();
        clearTimeout(timer);
      },
    },
    { name: 'stop the wheel', withinMs: 3_000, run: () => wheel.stop() },
  ];
}
