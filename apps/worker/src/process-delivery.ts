import type { Job } from 'bullmq';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import type { JobId } from '@holdoff/throttle-core';
import type { Logger } from '@holdoff/service-runtime';
import { applyDisposition, type Disposition } from './apply-decision.ts';
import type { Delivery, WorkerParts } from './attempt.ts';
import { handleUrlJob } from './handle-url-job.ts';
import type { QueueMoves } from './queue-moves.ts';

/** How long a job stays away when the gate could not be asked. */
const GATE_AWAY_MS = 2_000;
/** How long a job stays away after a fault in our own code: it must neither spin nor be lost. */
const OWN_FAULT_MS = 30_000;

export interface ProcessorOptions {
  readonly parts: WorkerParts;
  readonly logger: Logger;
  readonly moves: QueueMoves;
  readonly inFlight: { inc(): void; dec(): void };
  /** Aborted when the grace period of a shutdown is over. */
  readonly cut: AbortSignal;
}

/**
 * What BullMQ calls for each delivery. A job never ends as failed here: an ended URL completes, everything else
 * is put back with an instant, since the queue counts failures and we have no use for its count.
 */
export function createProcessor(
  options: ProcessorOptions,
): (job: Job, token?: string, signal?: AbortSignal) => Promise<unknown> {
  return async (job, token, signal) => {
    const delivery: Delivery = {
      job: (job.id ?? '') as JobId,
      number: job.attemptsStarted,
      data: job.data,
      signal: signal === undefined ? options.cut : AbortSignal.any([signal, options.cut]),
    };
    options.inFlight.inc();
    try {
      return await applyDisposition(job, token, await decide(delivery, options), options.moves);
    } finally {
      options.inFlight.dec();
    }
  };
}

async function decide(delivery: Delivery, { parts, logger, moves }: ProcessorOptions): Promise<Disposition> {
  try {
    return await handleUrlJob(delivery, parts);
  } catch (error) {
    if (error instanceof GateUnavailable)
      return { kind: 'delay', untilMs: (await moves.nowMs()) + GATE_AWAY_MS, data: null };
    logger.error('a delivery failed for a fault of our own', { job: delivery.job, error });
    return { kind: 'delay', untilMs: (await moves.nowMs()) + OWN_FAULT_MS, data: null };
  }
}
