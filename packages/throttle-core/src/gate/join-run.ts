import type { BatchId, JobId } from '../core/identifiers.ts';

export interface JoinRunRequest {
  readonly job: JobId;
  readonly from: BatchId;
  /** Exists already. */
  readonly to: BatchId;
}

/** no: it has ended, is at work, does not wait for a later run, is in a third batch, or a batch was cancelled. */
export type JoinRunReply = 'joined' | 'already' | 'no';
