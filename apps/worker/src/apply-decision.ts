import { DelayedError, type Job } from 'bullmq';
import type { JobEnd } from '@holdoff/throttle-core';
import type { UrlJob } from '@holdoff/url-job';
import type { QueueMoves } from './queue-moves.ts';

/** What happens to the queue job now that its delivery is over. */
export type Disposition =
  /** The job ended; the queue keeps `end` for a while. */
  | { readonly kind: 'complete'; readonly end: JobEnd }
  /** The job waits in the queue until `untilMs`, or until it is called. `data`: what it goes on with; null: as it is. */
  | { readonly kind: 'delay'; readonly untilMs: number; readonly data: UrlJob | null }
  /** The gate takes another delivery of this job for the current one: nothing is sent or written for it here. */
  | { readonly kind: 'abandon' };

/** How long an abandoned job stays away, if it is ours to put back at all. */
const ABANDONED_MS = 1_000;

/**
 * The only place that speaks BullMQ's control-flow errors. `moveToDelayed` must come first and nothing may
 * follow `DelayedError`: without the move the job stays active until the stall check finds it.
 *
 * An abandoned job is put back like any other. The queue refuses that while the lock belongs to another worker, and
 * then refuses the failure that it makes of the refusal. If the lock is ours all the same (the job was removed from
 * the queue and entered again, so that the queue counts its deliveries from one), a failure would end the job;
 * put back, it comes again with a higher number until the gate takes it for the current one.
 */
export async function applyDisposition(
  job: Job,
  token: string | undefined,
  disposition: Disposition,
  moves: QueueMoves,
): Promise<{ readonly end: JobEnd }> {
  switch (disposition.kind) {
    case 'complete':
      return { end: disposition.end };
    case 'delay':
      await moves.moveToDelayed(job.id ?? '', Math.ceil(disposition.untilMs), token, disposition.data);
      throw new DelayedError();
    case 'abandon':
      await moves.moveToDelayed(job.id ?? '', (await moves.nowMs()) + ABANDONED_MS, token, null);
      throw new DelayedError();
  }
}
