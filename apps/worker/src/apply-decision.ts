import { DelayedError, type Job } from 'bullmq';
import type { JobEnd } from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';

/** What happens to the queue job now that its delivery is over. */
export type Disposition =
  /** The job ended; the queue keeps `end` for a while. */
  | { readonly kind: 'complete'; readonly end: JobEnd }
  /** The job waits in the queue until `untilMs`, or until it is called. `data`: what it goes on with; null: as it is. */
  | { readonly kind: 'delay'; readonly untilMs: number; readonly data: UrlJob | null }
  /** Another delivery of this job is current: touch nothing. */
  | { readonly kind: 'abandon' };

/** Thrown for an abandoned delivery; the queue refuses the failure, since the lock belongs to another worker. */
class StaleDelivery extends Error {
  readonly code = 'STALE_DELIVERY';

  constructor(job: string) {
    super(`another delivery of ${job} is current`);
    this.name = 'StaleDelivery';
  }
}

/**
 * The only place that speaks BullMQ's control-flow errors. `moveToDelayed` must come first and nothing may
 * follow `DelayedError`: without the move the job stays active until the stall check finds it.
 */
export async function applyDisposition(
  job: Job,
  token: string | undefined,
  disposition: Disposition,
): Promise<{ readonly end: JobEnd }> {
  switch (disposition.kind) {
    case 'complete':
      return { end: disposition.end };
    case 'delay':
      if (disposition.data !== null) await job.updateData(disposition.data);
      await job.moveToDelayed(Math.ceil(disposition.untilMs), token);
      throw new DelayedError();
    case 'abandon':
      throw new StaleDelivery(job.id ?? '');
  }
}
