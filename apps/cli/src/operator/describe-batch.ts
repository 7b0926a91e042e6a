import type { BatchSnapshot } from '@holdoff/throttle-core';
import { fields, instant } from './operator-command.ts';

/** The figures of a batch by definitions that are the same every time. */
export interface BatchReport {
  readonly batch: string;
  readonly jobs: number;
  readonly useful: number;
  readonly stopped: number;
  readonly waiting: number;
  /** Useful results that needed more than one attempt. */
  readonly recoveredByRetry: number;
  /** Attempts beyond each job's first. */
  readonly extraAttempts: number;
  readonly requests: number;
  readonly throttled: number;
  readonly deferrals: number;
  readonly deadlineMisses: number;
  readonly stopReasons: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly costMicros: number;
  /** null: no useful result yet. */
  readonly costMicrosPerUseful: number | null;
  readonly tokens: { readonly total: number; readonly spent: number } | null;
}

export function reportOf(batch: BatchSnapshot): BatchReport {
  const { jobs } = batch;
  return {
    batch: batch.batch,
    jobs: jobs.total,
    useful: jobs.done,
    stopped: jobs.stopped,
    waiting: jobs.total - jobs.done - jobs.stopped,
    recoveredByRetry: batch.recovered,
    extraAttempts: batch.tokens?.spent ?? Math.max(0, batch.attempts - jobs.total),
    requests: batch.requests,
    throttled: batch.throttled,
    deferrals: batch.deferrals,
    deadlineMisses: batch.stoppedBy.deadline ?? 0,
    stopReasons: batch.stoppedBy,
    bytes: batch.bytes,
    costMicros: batch.costMicros,
    costMicrosPerUseful: jobs.done === 0 ? null : Math.round(batch.costMicros / jobs.done),
    tokens: batch.tokens,
  };
}

export function describeBatch(batch: BatchSnapshot): string {
  const report = reportOf(batch);
  const reasons = Object.entries(report.stopReasons).map(([reason, count]) => `${reason} ${count}`);
  const state = batch.cancelled ? 'cancelled' : batch.approved ? 'approved' : 'waits for approval';
  return fields([
    ['batch', `${report.batch} (${state}, owner ${batch.owner})`],
    ['URLs', `${report.jobs}: ${report.useful} useful, ${report.stopped} stopped, ${report.waiting} to go`],
    ['stopped by', reasons.length === 0 ? '-' : reasons.join(', ')],
    ['recovered by retry', String(report.recoveredByRetry)],
    [
      'extra attempts',
      `${report.extraAttempts}${report.tokens === null ? '' : ` of ${report.tokens.total} retry tokens`}`,
    ],
    ['requests', `${report.requests}, ${report.throttled} answered with a throttle`],
    ['deferrals', String(report.deferrals)],
    ['deadline misses', String(report.deadlineMisses)],
    ['bytes', report.bytes.toLocaleString('en-US')],
    [
      'cost',
      `${(report.costMicros / 1e6).toFixed(4)}${report.costMicrosPerUseful === null ? '' : `, ${(report.costMicrosPerUseful / 1e6).toFixed(6)} per useful result`}`,
    ],
    ['deadline', instant(batch.deadlineMs)],
  ]);
}
