/**
 * The policy that applies to one host, after presets and overrides are resolved. All durations are whole
 * milliseconds, all rates requests per second. `null` means "no limit" or "off", as the field's comment says.
 */
export interface Policy {
  readonly retryAfter: RetryAfterPolicy;
  readonly backoff: BackoffPolicy;
  readonly attempts: {
    /** Committed dispatches of one job over its whole life, the first included. null: unbounded. */
    readonly totalMax: number | null;
    /** 429s that one run of a job may see before it is deferred to the next run. null: unbounded. */
    readonly throttledPerRunMax: number | null;
    /** Attempts after which 500 is the page's answer. null: 500 is as passing as 503. */
    readonly serverErrorMax: number | null;
  };
  readonly deadline: {
    /** End-to-end life of a job from its enqueueing, when the job names none. null: no deadline. */
    readonly jobMs: number | null;
    /** A job without a deadline is stopped rather than retried without an end. */
    readonly required: boolean;
    /** Whole-attempt budget: DNS to the last byte, redirects and handler included. */
    readonly attemptMs: number;
    /** Kept free before the deadline when an attempt is planned. */
    readonly headroomMs: number;
  };
  readonly defer: {
    /** Deferrals of one job over its whole life. null: bounded by the deadline alone. */
    readonly countMax: number | null;
    /** When the next run begins, counted from the deferral, where the server named no instant. */
    readonly nextRunAfterMs: number;
  };
  readonly methods: readonly ('GET' | 'HEAD')[] | 'any';
  /** Whether a batch needs its owner's approval: not at all, given unless withheld, or only when said. */
  readonly approvals: 'none' | 'default' | 'explicit';
  readonly batchTokens: BatchTokenPolicy;
  /** null: off. Fills with first-attempt successes, each retry dispatch takes one. */
  readonly hostTokens: { readonly perSuccess: number; readonly cap: number; readonly start: number } | null;
  /** Live requests to one host in the whole fleet. */
  readonly concurrency: number;
  readonly pace: PacePolicy;
  /** null: off. */
  readonly circuit: CircuitPolicy | null;
  /** Rate ramp after a cooldown or an open circuit. null: off. */
  readonly ramp: { readonly durationMs: number; readonly startFraction: number } | null;
  readonly redirects: { readonly hopsMax: number };
  readonly body: BodyPolicy;
}

export interface RetryAfterPolicy {
  readonly parse: 'strict' | 'lenient';
  readonly onMalformed: 'fallback' | 'hold' | 'stop';
  readonly onAbsent: 'fallback' | 'defer' | 'hold' | 'stop';
  /** Consecutive 429 events without a usable wait before the host is held for its owner. null: never. */
  readonly noHintEventsMax: number | null;
  /** Host pause for the k-th consecutive event without a usable wait: min(cap, base x 2^(k-1)) x U(1, 1.5). */
  readonly noHintBaseMs: number;
  readonly noHintCapMs: number;
  /** padded wait = max(wait x multiply, wait + atLeast) + U(0, wakeJitter). */
  readonly padMultiply: number;
  readonly padAtLeastMs: number;
  readonly wakeJitterMs: number;
  /** A server wait up to this keeps the job's host slot reserved. 0: never in place. */
  readonly inPlaceMaxMs: number;
  /** A server wait over this ends the run: the job is deferred to the server's instant. null: never. */
  readonly deferOverMs: number | null;
  /** A server wait over this holds the host for its owner. null: never. */
  readonly hostPauseMaxMs: number | null;
  /** Re-reads the number's unit for hosts known to send another one. */
  readonly quirk: 'seconds' | 'milliseconds' | 'epoch_seconds' | null;
}

export interface BackoffPolicy {
  /** full: draw x window. proportional: window x (0.5 + draw). window = min(cap, base x 2^(attempts-1)). */
  readonly kind: 'full' | 'proportional';
  readonly baseMs: number;
  readonly capMs: number;
}

export type BatchTokenPolicy =
  | { readonly kind: 'off' }
  /** total = max(least, ceil(share x jobs)), never refilled. */
  | { readonly kind: 'share'; readonly share: number; readonly least: number }
  /** The batch must name its own number; without one it has none. */
  | { readonly kind: 'explicit' };

export interface PacePolicy {
  /** Least time between two dispatches to the host, set by the operator. null: none. */
  readonly intervalMs: number | null;
  /** null: off. */
  readonly learn: LearnPolicy | null;
}

export interface LearnPolicy {
  readonly startPerSecond: number;
  readonly floorPerSecond: number;
  readonly ceilingPerSecond: number | null;
  /** Slow start: rate x 2 after this many successes and at least this long. */
  readonly doubleAfterSuccesses: number;
  readonly doubleAfterMs: number;
  /** Multiplicative decrease after an event, once a first event has ended slow start. */
  readonly decrease: number;
  /** The last rate is reached again after max(recoveryLeast, recoveryPauses x mean pause). */
  readonly recoveryLeastMs: number;
  readonly recoveryPauses: number;
  readonly recoveryMostMs: number;
  /** How long a learned pace outlives the last request. */
  readonly keepMs: number;
}

export interface CircuitPolicy {
  /** Consecutive 429 responses that open it. */
  readonly responsesMax: number;
  /** Consecutive 429 events that open it. null: events are not counted. */
  readonly eventsMax: number | null;
  readonly openMs: number;
  readonly growth: number;
  readonly openMostMs: number;
}

export interface BodyPolicy {
  readonly wireBytesMax: number;
  readonly decodedBytesMax: number;
  /** Decoded over wire bytes, checked once a mebibyte has been decoded. */
  readonly ratioMax: number;
  readonly headerBytesMax: number;
  /** Media types that are read, e.g. `text/html` or `text/*`; empty: any. */
  readonly contentTypes: readonly string[];
}
