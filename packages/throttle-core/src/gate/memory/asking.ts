import type { BatchId } from '../../core/identifiers.ts';
import type { JobFacts } from '../../core/plan-retry.ts';
import type { AdmitRequest } from '../gate.ts';
import { factsOf, hostTokens } from './job-facts.ts';
import {
  type BatchEntry,
  type HostEntry,
  type JobEntry,
  type MemoryState,
  newBatch,
} from './memory-state.ts';

/** What one admission looks at. */
export interface Asking {
  readonly state: MemoryState;
  readonly request: AdmitRequest;
  readonly nowMs: number;
  readonly job: JobEntry;
  readonly host: HostEntry;
  readonly batch: BatchEntry;
  /** Takes an attempt, and a token if it is a re-send. */
  readonly counted: boolean;
}

export function facts({ job, host, batch, request }: Asking): JobFacts {
  return factsOf(job, host, batch, hostTokens(host, request.rules));
}

/** The deadline can no longer be met by an attempt that begins at `atMs`. */
export function tooLate({ job, request }: Asking, atMs: number): boolean {
  const { attemptMs, headroomMs } = request.rules;
  return job.deadlineMs > 0 && atMs + attemptMs + headroomMs >= job.deadlineMs;
}

/** How a batch that nobody described begins. */
export function unknownBatch({ batch }: { readonly batch: BatchId }, nowMs: number): BatchEntry {
  const spend = { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 };
  return newBatch(batch, { tokens: { kind: 'off' }, approved: true, owner: '', deadlineMs: 0, spend }, nowMs);
}
