import { Counter, Gauge, type Registry } from 'prom-client';
import { INBOX_FIELDS } from '@holdoff/url-job';
import type { InboxEvents } from './inbox/consume-inbox.ts';
import type { InboxStatus } from './inbox/inbox-stream.ts';
import type { IndexSweepReport } from './sweep/index-sweep.ts';
import type { PoisonReason } from './sweep/judge-job.ts';

/** Label values come from closed sets: what producers send never becomes a label. */
const REJECTED_FIELDS = new Set<string>([...INBOX_FIELDS, 'entry']);

/** Everything that a scheduler counts. Names are listed in docs/metrics.md. */
export class SchedulerMetrics implements InboxEvents {
  readonly #entries: Counter<'result'>;
  readonly #rejected: Counter<'field'>;
  readonly #faults: Counter<'part'>;
  readonly #inbox: Gauge<'state'>;
  readonly #oldest: Gauge;
  readonly #paused: Gauge;
  readonly #called: Counter<'result'>;
  readonly #expired: Counter;
  readonly #poison: Counter<'reason'>;
  readonly #repairs: Counter<'kind'>;
  readonly #firings: Counter<'result'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#entries = new Counter({
      name: 'holdoff_inbox_entries_total',
      help: 'Inbox entries done with, by result: created, duplicate, rejected.',
      labelNames: ['result'],
      registers,
    });
    this.#rejected = new Counter({
      name: 'holdoff_inbox_rejected_total',
      help: 'Refused inbox entries by the field that was at fault.',
      labelNames: ['field'],
      registers,
    });
    this.#faults = new Counter({
      name: 'holdoff_scheduler_faults_total',
      help: 'Work that was interrupted and is done again, by part.',
      labelNames: ['part'],
      registers,
    });
    this.#inbox = new Gauge({
      name: 'holdoff_inbox_entries',
      help: 'Entries in the inbox: waiting (not taken yet), pending (taken, not done with).',
      labelNames: ['state'],
      registers,
    });
    this.#oldest = new Gauge({
      name: 'holdoff_inbox_oldest_seconds',
      help: 'Age of the oldest entry in the inbox.',
      registers,
    });
    this.#paused = new Gauge({
      name: 'holdoff_intake_paused',
      help: '1 while the inbox is left alone because of the backlog or of memory.',
      registers,
    });
    this.#called = new Counter({
      name: 'holdoff_scheduler_called_total',
      help: 'Jobs that the gate called, by result: promoted, missed.',
      labelNames: ['result'],
      registers,
    });
    this.#expired = new Counter({
      name: 'holdoff_scheduler_expired_total',
      help: 'Times a waiting job was named because its deadline had passed.',
      registers,
    });
    this.#poison = new Counter({
      name: 'holdoff_poison_total',
      help: 'Unreadable queue jobs moved to the stream of the dead, by reason.',
      labelNames: ['reason'],
      registers,
    });
    this.#repairs = new Counter({
      name: 'holdoff_index_repairs_total',
      help: 'Differences between gate and queue that were repaired: recalled, orphaned, removed.',
      labelNames: ['kind'],
      registers,
    });
    this.#firings = new Counter({
      name: 'holdoff_schedule_firings_total',
      help: 'Firings of recurring work, by result: entered, overlap, missed, failed.',
      labelNames: ['result'],
      registers,
    });
  }

  accepted(count: number): void {
    this.#entries.inc({ result: 'created' }, count);
  }

  duplicate(count: number): void {
    this.#entries.inc({ result: 'duplicate' }, count);
  }

  rejected(field: string): void {
    this.#entries.inc({ result: 'rejected' });
    this.#rejected.inc({ field: REJECTED_FIELDS.has(field) ? field : 'unknown_field' });
  }

  failed(): void {
    this.fault('inbox');
  }

  fault(part: 'inbox' | 'schedules' | 'wheel' | 'sweep' | 'policy' | 'redis'): void {
    this.#faults.inc({ part });
  }

  inboxStatus(status: InboxStatus): void {
    this.#inbox.set({ state: 'waiting' }, Math.max(0, status.entries - status.pending));
    this.#inbox.set({ state: 'pending' }, status.pending);
    this.#oldest.set(status.oldestMs / 1_000);
  }

  intakePaused(paused: boolean): void {
    this.#paused.set(paused ? 1 : 0);
  }

  called(promoted: number, missed: number): void {
    this.#called.inc({ result: 'promoted' }, promoted);
    this.#called.inc({ result: 'missed' }, missed);
  }

  expired(count: number): void {
    this.#expired.inc(count);
  }

  poison(reason: PoisonReason): void {
    this.#poison.inc({ reason });
  }

  fired(result: 'entered' | 'overlap' | 'missed' | 'failed'): void {
    this.#firings.inc({ result });
  }

  repaired(report: IndexSweepReport): void {
    this.#repairs.inc({ kind: 'recalled' }, report.recalled);
    this.#repairs.inc({ kind: 'orphaned' }, report.orphaned);
    this.#repairs.inc({ kind: 'removed' }, report.removed);
  }
}
