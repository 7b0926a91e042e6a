import type { Worker } from 'bullmq';
import type { Logger, MetricsServer, ShutdownStep } from '@holdoff/service-runtime';
import type { WheelTimer } from '@holdoff/throttle-core';
import type { Unsettled } from './unsettled.ts';

export interface DrainParts {
  readonly graceMs: number;
  readonly server: Pick<MetricsServer, 'drain'>;
  readonly worker: Pick<Worker, 'close'>;
  readonly wheel: Pick<WheelTimer, 'stop'>;
  /** Ends every request in flight. */
  readonly cut: AbortController;
  readonly parts: { readonly unsettled: Pick<Unsettled, 'tell'> };
  readonly logger: Pick<Logger, 'error'>;
}

/** How long deliveries may take to settle once their requests were cut. */
const SETTLE_MS = 10_000;

/**
 * Takes no more, lets requests in flight finish, then cuts the rest, whose jobs go back to the queue. Nothing is
 * lost or counted twice: a cut request is settled like any other. While Redis is away settling goes on for all of this
 * time; what could not be told by then is named in the log.
 */
export function drainSteps(input: DrainParts): readonly ShutdownStep[] {
  const { graceMs, server, worker, wheel, cut, parts, logger } = input;
  return [
    {
      name: 'finish requests in flight',
      withinMs: graceMs + SETTLE_MS,
      run: async (signal) => {
        server.drain();
        const timer = setTimeout(() => cut.abort(new Error('shutdown')), graceMs);
        signal.addEventListener('abort', () => cut.abort(new Error('forced shutdown')), { once: true });
        signal.addEventListener('abort', () => parts.unsettled.tell(logger), { once: true });
        await worker.close();
        clearTimeout(timer);
      },
    },
    { name: 'stop the wheel', withinMs: 3_000, run: () => wheel.stop() },
  ];
}
