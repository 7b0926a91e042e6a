import type { HoldCause } from './host-effect.ts';
import type { SpendKind } from './retry-budget.ts';
import type { StopReason } from './stop-reason.ts';

/** Which of the instants that a plan must respect was the latest, and so decided. */
export type Binding = 'backoff' | 'server_wait' | 'cooldown' | 'circuit' | 'next_run' | 'stored' | 'now';

/** Why the planner decided as it did, as data: `explain`, logs and metrics say the same thing. */
export type PlanReason =
  | { readonly code: 'served' }
  | { readonly code: 'redirected'; readonly hop: number; readonly hopsMax: number }
  /** Cut by shutdown or given back: says nothing about host or job. */
  | { readonly code: 'given_back' }
  | { readonly code: 'cancelled' }
  | { readonly code: 'not_approved' }
  | { readonly code: 'method'; readonly method: string }
  /** The outcome itself ends the job: a permanent answer, a block, a fault of the request. */
  | { readonly code: 'outcome'; readonly stop: StopReason }
  | { readonly code: 'redirect_limit'; readonly hop: number; readonly hopsMax: number }
  | { readonly code: 'no_usable_wait'; readonly wait: 'absent' | 'malformed' }
  | { readonly code: 'host_held'; readonly cause: HoldCause }
  | { readonly code: 'attempts_used'; readonly attempts: number; readonly attemptsMax: number }
  | { readonly code: 'deadline_missing' }
  | {
      readonly code: 'deadline';
      readonly notBeforeMs: number;
      readonly attemptMs: number;
      readonly headroomMs: number;
      readonly deadlineMs: number;
    }
  | { readonly code: 'spend'; readonly limit: SpendKind }
  | { readonly code: 'no_tokens'; readonly bucket: 'batch' | 'host' }
  | { readonly code: 'deferrals_used'; readonly deferrals: number; readonly deferralsMax: number }
  | { readonly code: 'retry'; readonly binding: Binding }
  | { readonly code: 'defer'; readonly cause: DeferCause; readonly binding: Binding };

/** Why the run is over although the job is not. */
export type DeferCause = 'long_wait' | 'no_hint' | 'run_limit';

/** One sentence for people. Ends without a full stop, so that callers can go on. */
export function explainReason(reason: PlanReason): string {
  switch (reason.code) {
    case 'served':
      return 'the server answered';
    case 'redirected':
      return `redirect ${reason.hop} of at most ${reason.hopsMax}: the attempt goes on at the next host`;
    case 'given_back':
      return 'the attempt was cut short on our side, which says nothing about the host';
    case 'cancelled':
      return 'the batch was cancelled';
    case 'not_approved':
      return 'the batch is not approved';
    case 'method':
      return `the policy does not repeat ${reason.method} requests`;
    case 'outcome':
      return `the answer is final (${reason.stop})`;
    case 'redirect_limit':
      return `redirect ${reason.hop} is one more than the ${reason.hopsMax} the policy follows`;
    case 'no_usable_wait':
      return reason.wait === 'absent'
        ? 'throttled without a wait, and the policy stops then'
        : 'the wait cannot be read, and the policy stops then';
    case 'host_held':
      return `the host is held for its owner: ${HOLD_CAUSES[reason.cause]}`;
    case 'attempts_used':
      return `all ${reason.attemptsMax} attempts are used (${reason.attempts})`;
    case 'deadline_missing':
      return 'the policy demands a deadline, and neither job nor batch names one';
    case 'deadline':
      return explainDeadline(reason);
    case 'spend':
      return `the batch has reached its limit of ${reason.limit}`;
    case 'no_tokens':
      return `the ${reason.bucket} has no retry token left`;
    case 'deferrals_used':
      return `all ${reason.deferralsMax} deferrals are used (${reason.deferrals})`;
    case 'retry':
      return `ask again; ${BINDINGS[reason.binding]}`;
    case 'defer':
      return `${DEFER_CAUSES[reason.cause]}; ${BINDINGS[reason.binding]}`;
  }
}

function explainDeadline(reason: Extract<PlanReason, { code: 'deadline' }>): string {
  const endsMs = reason.notBeforeMs + reason.attemptMs + reason.headroomMs;
  const lateMs = endsMs - reason.deadlineMs;
  return lateMs === 0
    ? 'the next attempt could end exactly at the deadline, and must end before it'
    : `the next attempt could end ${lateMs / 1000} s after the deadline`;
}

const HOLD_CAUSES: Record<HoldCause, string> = {
  host_pause_max: 'the wait is longer than the policy pauses a host by itself',
  no_hint_events: 'too many throttling events in a row without a usable wait',
  malformed: 'the wait cannot be read',
  absent: 'throttled without a wait',
};

const DEFER_CAUSES: Record<DeferCause, string> = {
  long_wait: 'the wait is too long for this run',
  no_hint: 'throttled without a usable wait, so this run is over',
  run_limit: 'too many 429s in this run',
};

const BINDINGS: Record<Binding, string> = {
  backoff: 'our own back-off is the latest of the waits',
  server_wait: "the server's wait is the latest of the waits",
  cooldown: "the host's cooldown is the latest of the waits",
  circuit: "the host's open circuit is the latest of the waits",
  next_run: 'the next run begins then',
  stored: 'the instant was fixed when the job was planned first',
  now: 'nothing has to be waited for',
};
