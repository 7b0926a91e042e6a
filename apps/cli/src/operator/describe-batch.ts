import type { BatchSnapshot } from '@holdoff/throttle-core';
import { counted } from './counted.ts';
import { fields, instant } from './operator-command.ts';

/** The figures of a batch by definitions that are the same every time; the table shows each of them. */
export interface BatchReport {
  readonly batch: string;
  readonly state: 'approved' | 'waits for approval' | 'cancelled';
  readonly owner: string;
  /** URLs entered, those that joined from the run before included. */
  readonly jobs: number;
  readonly useful: number;
  readonly stopped: number;
  readonly waiting: number;
  /** Of those that wait: deferred to the next run. */
  readonly awaitNextRun: number;
  /** Joined a later run under their ids; their results are in its report. */
  readonly movedOn: number;
  /** Useful results that needed more than one attempt. */
  readonly recoveredByRetry: number;
  /** Attempts beyond each job's first in this batch. */
  readonly extraAttempts: number;
  readonly attempts: number;
  /** Exchanges on the wire: attempts, redirect hops and robots.txt. */
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
  /** ISO 8601; null: none for the batch as a whole. */
  readonly deadline: string | null;
  /** 0: no limit. */
  readonly limits: BatchSnapshot['spend'];
}

export function reportOf(batch: BatchSnapshot): BatchReport {
  const { jobs } = batch;
  return {
    batch: batch.batch,
    state: batch.cancelled ? 'cancelled' : batch.approved ? 'approved' : 'waits for approval',
    owner: batch.owner,
    jobs: jobs.total,
    useful: jobs.done,
    stopped: jobs.stopped,
    waiting: jobs.total - batch.movedOn - jobs.done - jobs.stopped,
    awaitNextRun: batch.away,
    movedOn: batch.movedOn,
    recoveredByRetry: batch.recovered,
    extraAttempts: batch.resends,
    attempts: batch.attempts,
    requests: batch.requests,
    throttled: batch.throttled,
    deferrals: batch.deferrals,
    deadlineMisses: batch.stoppedBy.deadline ?? 0,
    stopReasons: batch.stoppedBy,
    bytes: batch.bytes,
    costMicros: batch.costMicros,
    costMicrosPerUseful: jobs.done === 0 ? null : Math.round(batch.costMicros / jobs.done),
    tokens: batch.tokens,
    deadline: batch.deadlineMs === 0 ? null : instant(batch.deadlineMs),
    limits: batch.spend,
  };
}

export function describeBatch(batch: BatchSnapshot): string {
  const report = reportOf(batch);
  const reasons = Object.entries(report.stopReasons).map(([reason, count]) => `${reason} ${count}`);
  return fields([
    ['batch', `${report.batch} (${report.state}${report.owner === '' ? '' : `, owner ${report.owner}`})`],
    ['URLs', urlsOf(report)],
    ['stopped by', reasons.length === 0 ? '-' : reasons.join(', ')],
    ['recovered by retry', String(report.recoveredByRetry)],
    ['attempts', `${report.attempts}, ${report.extraAttempts} of them extra${tokensOf(report)}`],
    ['requests', `${report.requests}, ${report.throttled} answered with a throttle`],
    ['deferrals', String(report.deferrals)],
    ['deadline misses', String(report.deadlineMisses)],
    ['bytes', report.bytes.toLocaleString('en-US')],
    ['cost', costOf(report)],
    ['deadline', report.deadline ?? '-'],
    ['limits', limitsOf(report)],
  ]);
}

function urlsOf(report: BatchReport): string {
  const moved = report.movedOn === 0 ? '' : `, ${report.movedOn} moved on to a later run`;
  const away = report.awaitNextRun === 0 ? '' : ` (${report.awaitNextRun} deferred to the next run)`;
  return `${report.jobs}: ${report.useful} useful, ${report.stopped} stopped, ${report.waiting} to go${away}${moved}`;
}

function tokensOf({ tokens }: BatchReport): string {
  return tokens === null ? '' : `; ${tokens.spent} of ${counted(tokens.total, 'retry token')} spent`;
}

function costOf({ costMicros, costMicrosPerUseful }: BatchReport): string {
  const each =
    costMicrosPerUseful === null ? '' : `, ${(costMicrosPerUseful / 1e6).toFixed(6)} per useful result`;
  return `${(costMicros / 1e6).toFixed(4)}${each}`;
}

function limitsOf({ limits }: BatchReport): string {
  const { bytesMax, requestsMax, costMicrosMax } = limits;
  const said = [
    ...(bytesMax > 0 ? [counted(bytesMax, 'byte')] : []),
    ...(requestsMax > 0 ? [counted(requestsMax, 'request')] : []),
    ...(costMicrosMax > 0 ? [`cost ${(costMicrosMax / 1e6).toFixed(4)}`] : []),
  ];
  return said.length === 0 ? 'none' : said.join(', ');
}
