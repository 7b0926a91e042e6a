import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';

const RESOLUTION_MS = 20;

/**
 * How late timers fire because something keeps the event loop busy. The longest lag since the last scrape is
 * what matters: a loop that stands still cannot renew a lock or a lease, and a mean hides that.
 */
export class EventLoopLag {
  readonly #histogram: ReturnType<typeof monitorEventLoopDelay>;

  constructor(registry: Registry) {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
    this.#histogram = histogram;
    const gauge = new Gauge({
      name: 'event_loop_lag_max_seconds',
      help: 'Longest delay of the event loop since the last scrape.',
      registers: [registry],
      collect: () => {
        gauge.set(lagMs(histogram.max) / 1_000);
        histogram.reset();
      },
    });
  }

  /** Since the last scrape, ms. */
  get maxMs(): number {
    return lagMs(this.#histogram.max);
  }

  stop(): void {
    this.#histogram.disable();
  }
}

function lagMs(delayNs: number): number {
  return Math.max(0, delayNs / 1e6 - RESOLUTION_MS);
}
