import type { Logger } from '@holdoff/service-runtime';
import type { AttemptEvent, AttemptEvents } from './attempt.ts';
import { DeliveryFault } from './deliver-result.ts';

/** One log line for each request on the wire: what was seen, what was concluded, when it goes on. */
export function createAttemptLog(logger: Logger): AttemptEvents {
  return {
    attempt(event: AttemptEvent): void {
      logger.info('attempt', {
        ...event,
        notBefore: instant(event.notBeforeMs),
        deadline: instant(event.deadlineMs),
        notBeforeMs: undefined,
        deadlineMs: undefined,
      });
    },
    waited: ({ cause, inline }) => logger.debug('wait', { cause, inline }),
    ended: ({ outcome, reason }) => logger.debug('ended', { outcome, reason }),
    deliveryFault(error: unknown): void {
      const detail = error instanceof DeliveryFault ? error.message : 'results cannot be written';
      logger.error('delivery fault', { detail });
    },
  };
}

function instant(ms: number): string | undefined {
  return ms > 0 ? new Date(ms).toISOString() : undefined;
}

/** Sends each event to several listeners. */
export function fanOut(listeners: readonly AttemptEvents[]): AttemptEvents {
  return {
    attempt: (event) => listeners.forEach((listener) => listener.attempt(event)),
    waited: (event) => listeners.forEach((listener) => listener.waited(event)),
    ended: (event) => listeners.forEach((listener) => listener.ended(event)),
    deliveryFault: (error) => listeners.forEach((listener) => listener.deliveryFault(error)),
  };
}
