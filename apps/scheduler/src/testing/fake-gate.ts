import type { EnterReply, Gate, HostKey, JobEnd, JobId, JobSnapshot } from '@holdoff/throttle-core';

/** The few calls of the gate that a scheduler makes, over a map: for tests that are not about the gate. */
export class FakeGate {
  readonly ledger = new Map<JobId, { batch: string; ended: JobEnd | null; host: HostKey }>();
  /** Jobs that are told to wait, until when. */
  readonly waits = new Map<string, number>();
  refuse: string | null = null;

  readonly enter: Gate['enter'] = async ({ batch, jobs }) =>
    jobs.map(({ job, host, notBeforeMs }): EnterReply => {
      const known = this.ledger.get(job);
      if (known !== undefined) return { kind: 'duplicate', job, ended: known.ended, fallbackMs: notBeforeMs };
      if (this.refuse === batch) return { kind: 'refused', job, reason: 'cancelled' };
      this.ledger.set(job, { batch, ended: null, host });
      const fallbackMs = Math.max(notBeforeMs, this.waits.get(host) ?? 0);
      return fallbackMs > 0 ? { kind: 'wait', job, cause: 'not_before', fallbackMs } : { kind: 'go', job };
    });

  readonly inspectJob: Gate['inspectJob'] = async (job) => {
    const known = this.ledger.get(job);
    if (known === undefined) return undefined;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the scheduler reads of it
    return { job, batch: known.batch, ended: known.ended, waiting: null } as unknown as JobSnapshot;
  };

  readonly finish: Gate['finish'] = async ({ job, end }) => {
    const known = this.ledger.get(job);
    if (known === undefined || known.ended !== null)
      return { kind: 'already', end: known?.ended ?? null, call: [] };
    known.ended = end;
    return { kind: 'finished', end, call: [] };
  };
}
