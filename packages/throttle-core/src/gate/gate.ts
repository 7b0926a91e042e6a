import type { OutcomeClass } from '../core/classify-outcome.ts';
import type { HostEffect } from '../core/host-effect.ts';
import type { BatchId, HostKey, JobId, LeaseId } from '../core/identifiers.ts';
import type { JobEffect, JobFacts } from '../core/plan-retry.ts';
import type { SpendLimits } from '../core/retry-budget.ts';
import type { StopReason } from '../core/stop-reason.ts';
import type { JoinRunReply, JoinRunRequest } from './join-run.ts';
import type { AskProxyReply, AskProxyRequest, SettleProxyReply, SettleProxyRequest } from './proxy-gate.ts';

/**
 * The gate: what the whole fleet knows about hosts, jobs and batches, and the only place that changes it.
 *
 * Every call is atomic, takes its time from the gate's own clock (Redis `TIME`), and is idempotent by nonce:
 * the same nonce asked again gets the same answer and charges nothing twice. All instants are milliseconds
 * since the epoch on the gate's clock, all durations whole milliseconds.
 *
 * Two implementations pass one contract suite: `createMemoryGate` (the executable specification) and
 * `createRedisGate`.
 */
export interface Gate {
  /** Registers jobs before they are added to the queue; says for each whether it may go to a worker at once. */
  enter(request: EnterRequest): Promise<readonly EnterReply[]>;
  /** Asks permission for one request on the wire. Changes nothing unless it admits, but a waiting job joins its lane. */
  admit(request: AdmitRequest): Promise<AdmitReply>;
  /** Ends an admitted request: frees the lease, applies the host effect, the job effect and the batch counters. */
  settle(request: SettleRequest): Promise<SettleReply>;
  /** Ends or moves a job that holds no lease (refused payload, deadline passed while waiting). Idempotent. */
  finish(request: FinishRequest): Promise<FinishReply>;
  /** Moves a deferred job that was not sent since into a later run, under its id and with its life counters. Idempotent. */
  joinRun(request: JoinRunRequest): Promise<JoinRunReply>;
  /**
   * Asks whether a request may go through a proxy, which is a scope by itself (`proxyScope`). To be asked before `admit`:
   * a job that waits for its proxy takes no slot, no attempt and no token of its host.
   */
  askProxy(request: AskProxyRequest): Promise<AskProxyReply>;
  /** What a request taught about the proxy it was to go through. Needed for failures, for probes, and after failures. */
  settleProxy(request: SettleProxyRequest): Promise<SettleProxyReply>;
  /** Takes the hosts that are due and returns the jobs to call, and when to look again. */
  wake(request: WakeRequest): Promise<WakeReply>;

  hold(host: HostKey, reason: string, by: string): Promise<HostSnapshot>;
  resume(host: HostKey): Promise<CalledHost>;
  resetCircuit(host: HostKey): Promise<CalledHost>;
  setPaceOverride(host: HostKey, override: PaceOverride): Promise<HostSnapshot>;

  createBatch(
    request: CreateBatchRequest,
  ): Promise<{ readonly kind: 'created' | 'exists'; readonly batch: BatchSnapshot }>;
  topUpBatch(batch: BatchId, tokens: number, nonce: string): Promise<BatchSnapshot>;
  approveBatch(batch: BatchId, by: string): Promise<BatchSnapshot>;
  cancelBatch(batch: BatchId, by: string): Promise<BatchSnapshot>;

  inspectHost(host: HostKey): Promise<HostSnapshot | undefined>;
  inspectJob(job: JobId): Promise<JobSnapshot | undefined>;
  inspectBatch(batch: BatchId): Promise<BatchSnapshot | undefined>;
  /** Hosts the gate knows, in pages. */
  listHosts(
    cursor: string,
    limit: number,
  ): Promise<{ readonly hosts: readonly HostKey[]; readonly cursor: string | null }>;
  listBatches(): Promise<readonly BatchId[]>;
  /** The waiting jobs of a host in lane order. */
  listLane(host: HostKey, offset: number, limit: number): Promise<readonly JobId[]>;

  /** The gate's clock. */
  now(): Promise<number>;
}

/** The numbers of a host's policy that admission and settling need. The gate keeps no policy of its own. */
export interface HostRules {
  readonly concurrency: number;
  /** Configured or robots pace. 0: none. */
  readonly paceIntervalMs: number;
  readonly learn: {
    readonly startIntervalMs: number;
    readonly floorIntervalMs: number;
    /** Shortest interval the learner may reach. 0: unlimited. */
    readonly ceilingIntervalMs: number;
    readonly doubleAfterSuccesses: number;
    readonly doubleAfterMs: number;
    readonly decrease: number;
    readonly recoveryLeastMs: number;
    readonly recoveryPauses: number;
    readonly recoveryMostMs: number;
    readonly keepMs: number;
  } | null;
  readonly circuit: {
    readonly responsesMax: number;
    /** 0: events are not counted. */
    readonly eventsMax: number;
    readonly openMs: number;
    readonly growth: number;
    readonly openMostMs: number;
  } | null;
  readonly ramp: { readonly durationMs: number; readonly startFraction: number } | null;
  readonly hostTokens: { readonly perSuccess: number; readonly cap: number; readonly start: number } | null;
  /** Whole-attempt budget; the lease lives this long plus `leaseMarginMs`. */
  readonly attemptMs: number;
  readonly headroomMs: number;
  readonly leaseMarginMs: number;
  /** Waits up to this are answered with `inline: true`: the worker waits them out without a hop. */
  readonly inlineMaxMs: number;
}

export interface EnterRequest {
  readonly batch: BatchId;
  /** Used when the batch does not exist yet and is created by its first job. */
  readonly batchDefaults: BatchDefaults;
  readonly jobs: readonly EnteringJob[];
}

export interface EnteringJob {
  readonly job: JobId;
  readonly host: HostKey;
  readonly rules: Pick<HostRules, 'concurrency'>;
  /** 0 (first) to 100 (last). */
  readonly priority: number;
  /** 0: at once. */
  readonly notBeforeMs: number;
  /** Absolute; 0: no deadline. */
  readonly deadlineMs: number;
}

export type EnterReply =
  /** Add to the queue without delay. */
  | { readonly kind: 'go'; readonly job: JobId }
  /** Add to the queue delayed until `fallbackMs`; the job waits in its host's lane, or for its own not_before. */
  | { readonly kind: 'wait'; readonly job: JobId; readonly cause: WaitCause; readonly fallbackMs: number }
  /** Known already. `ended` null: it is alive, and adding the same queue id again is the safe repair. */
  | {
      readonly kind: 'duplicate';
      readonly job: JobId;
      readonly ended: JobEnd | null;
      readonly fallbackMs: number;
    }
  | { readonly kind: 'refused'; readonly job: JobId; readonly reason: StopReason };

export interface BatchDefaults {
  readonly tokens:
    | { readonly kind: 'off' }
    | { readonly kind: 'share'; readonly share: number; readonly least: number }
    | { readonly kind: 'fixed'; readonly total: number };
  readonly approved: boolean;
  readonly owner: string;
  /** Absolute; 0: none. */
  readonly deadlineMs: number;
  readonly spend: SpendLimits;
}

export interface AdmitRequest {
  readonly job: JobId;
  readonly host: HostKey;
  readonly batch: BatchId;
  readonly nonce: string;
  /** BullMQ's `attemptsStarted` at pick-up: an older delivery can neither send nor settle. */
  readonly delivery: number;
  /**
   * attempt: the job's request, counted and charged. hop: a redirect target of an attempt already counted.
   * robots: a robots.txt fetch on the job's behalf. Hops and robots need slot, pace, cooldown and circuit of
   * their host, and take neither attempt nor token.
   */
  readonly purpose: 'attempt' | 'hop' | 'robots';
  readonly attemptsMax: number;
  readonly rules: HostRules;
}

export const WAIT_CAUSES = [
  'not_before',
  'held',
  'circuit_open',
  'probe_in_flight',
  'cooldown',
  'turn',
  'slots',
  'pace',
] as const;
export type WaitCause = (typeof WAIT_CAUSES)[number];

export type AdmitReply =
  | {
      readonly kind: 'admitted';
      readonly leaseId: LeaseId;
      readonly attempt: number;
      readonly probe: boolean;
      readonly generation: number;
      readonly epoch: number;
      /** Batch retry tokens left; null: the batch has no bucket. */
      readonly tokensLeft: number | null;
      readonly leaseMs: number;
      /** The instant of admission on the gate's clock. */
      readonly admittedAtMs: number;
      readonly facts: JobFacts;
    }
  | {
      readonly kind: 'wait';
      readonly cause: WaitCause;
      /** The earliest instant at which asking again can help. */
      readonly untilMs: number;
      /** True: wait it out and ask again; the wait is short and holds no lease. */
      readonly inline: boolean;
      /** 0-based place in the lane; null for a wait of the job's own (not_before). */
      readonly place: number | null;
      /** Where to put the queue job if it must leave the worker: comes back then even if every index were lost. */
      readonly fallbackMs: number;
      readonly nowMs: number;
      readonly facts: JobFacts;
    }
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly nowMs: number; readonly facts: JobFacts }
  /** Another delivery of this job is current, or the job has ended: do nothing more. */
  | { readonly kind: 'stale'; readonly ended: JobEnd | null };

export type JobEnd = { readonly kind: 'done' } | { readonly kind: 'stopped'; readonly reason: StopReason };

export interface SettleRequest {
  readonly job: JobId;
  readonly host: HostKey;
  readonly batch: BatchId;
  readonly leaseId: LeaseId;
  readonly nonce: string;
  readonly delivery: number;
  readonly outcome: OutcomeClass;
  readonly hostEffect: HostEffect;
  readonly jobEffect: JobEffect;
  readonly rules: HostRules;
  readonly spent: { readonly requests: number; readonly bytes: number; readonly costMicros: number };
  /** Time to response headers; 0: unknown. */
  readonly latencyMs: number;
  /** One bounded line for the decision trail: status, header, policy version. At most 300 characters. */
  readonly evidence: string;
}

export interface SettleReply {
  /**
   * late: the lease was gone, and the host learned nothing but a longer cooldown. The job's own effect still applied if
   * its delivery and lease were the job's last; `job` says so, except for a job that it ended.
   */
  readonly kind: 'settled' | 'late';
  /** Queue jobs to promote now. */
  readonly call: readonly JobId[];
  /** When this host should be looked at next; null: nothing waits. */
  readonly lookAtMs: number | null;
  readonly nowMs: number;
  /** Where the job's queue entry goes: null when it ended or continues. */
  readonly job: { readonly dueMs: number; readonly cause: WaitCause } | null;
  readonly host: {
    readonly cooldownUntilMs: number;
    readonly circuit: CircuitState;
    readonly held: boolean;
    readonly intervalMs: number;
  };
}

export interface FinishRequest {
  readonly job: JobId;
  readonly batch: BatchId;
  readonly delivery: number;
  readonly end: JobEnd;
  readonly evidence: string;
}

export interface FinishReply {
  readonly kind: 'finished' | 'already' | 'stale';
  readonly end: JobEnd | null;
  readonly call: readonly JobId[];
}

export interface WakeRequest {
  /** At most this many hosts are looked at in one call. */
  readonly hostsMax: number;
  /** At most this many jobs are called in one call. */
  readonly jobsMax: number;
}

export interface WakeReply {
  readonly call: readonly JobId[];
  /** Jobs whose deadline passed while they waited: end them. */
  readonly expired: readonly JobId[];
  /** When to call `wake` again; null: nothing is waiting. */
  readonly nextAtMs: number | null;
  readonly nowMs: number;
}

export interface CalledHost {
  readonly host: HostSnapshot;
  readonly call: readonly JobId[];
}

export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];

export type PaceOverride =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly intervalMs: number }
  | {
      readonly kind: 'bounds';
      readonly floorIntervalMs: number | null;
      readonly ceilingIntervalMs: number | null;
    }
  | { readonly kind: 'off' }
  /** Forgets what was learned and starts slowly again. */
  | { readonly kind: 'reset' };

export interface HostSnapshot {
  readonly host: HostKey;
  readonly nowMs: number;
  readonly cooldownUntilMs: number;
  readonly hold: { readonly reason: string; readonly by: string; readonly sinceMs: number } | null;
  readonly circuit: {
    readonly state: CircuitState;
    readonly generation: number;
    readonly openUntilMs: number;
    readonly opens: number;
    readonly consecutiveResponses: number;
    readonly consecutiveEvents: number;
    readonly probe: { readonly leaseId: LeaseId; readonly untilMs: number } | null;
  };
  readonly epoch: number;
  readonly noHintEvents: number;
  readonly pace: {
    /** What the next dispatch is held to, ramp included; 0: unlimited. */
    readonly effectiveIntervalMs: number;
    /** 0: nothing learned. */
    readonly learnedIntervalMs: number;
    readonly phase: 'slow_start' | 'steady' | 'off';
    readonly lastCeilingIntervalMs: number;
    readonly lastEventAtMs: number;
    readonly nextAtMs: number;
    readonly override: PaceOverride;
    /** Why the rate does not grow at the moment; null: it may. */
    readonly heldBack: string | null;
  };
  readonly tokensLeft: number | null;
  /** The answer that closed it last, as its attempt's evidence has it; of a proxy: how it failed. null: nothing did. */
  readonly why: string | null;
  /** 0: never. */
  readonly whyAtMs: number;
  readonly leases: readonly { readonly leaseId: LeaseId; readonly untilMs: number }[];
  readonly waiting: number;
  readonly called: number;
  readonly lookAtMs: number | null;
}

export interface JobSnapshot {
  readonly job: JobId;
  readonly host: HostKey;
  readonly batch: BatchId;
  readonly facts: JobFacts;
  readonly ended: JobEnd | null;
  readonly endedAtMs: number;
  readonly waiting: {
    readonly cause: WaitCause;
    readonly untilMs: number;
    readonly place: number | null;
    /** Whose lane the job stands in, where it is not its own host's: a redirect's target, a proxy. null: its own, or none. */
    readonly scope: HostKey | null;
  } | null;
  /** Deferred and not sent since: its run is over for it, and a later run of its schedule takes it along. */
  readonly awaitsRun: boolean;
  readonly priority: number;
  readonly requests: number;
  readonly bytes: number;
  /** Newest first, bounded. */
  readonly trail: readonly TrailEntry[];
}

export interface TrailEntry {
  readonly atMs: number;
  readonly event: string;
  readonly detail: string;
}

export interface CreateBatchRequest {
  readonly batch: BatchId;
  readonly defaults: BatchDefaults;
}

export interface BatchSnapshot {
  readonly batch: BatchId;
  readonly owner: string;
  readonly approved: boolean;
  readonly cancelled: boolean;
  readonly createdAtMs: number;
  readonly deadlineMs: number;
  /** null: the bucket is off. total grows with the jobs when it is a share of them. */
  readonly tokens: { readonly total: number; readonly spent: number } | null;
  readonly jobs: { readonly total: number; readonly done: number; readonly stopped: number };
  readonly stoppedBy: Readonly<Partial<Record<StopReason, number>>>;
  /** Living jobs that were deferred and not sent since. */
  readonly away: number;
  /** Jobs that have joined a later run; they are in `jobs.total` of both. */
  readonly movedOn: number;
  readonly attempts: number;
  /** Attempts beyond each job's first in this batch; with a bucket, the tokens spent. */
  readonly resends: number;
  readonly requests: number;
  readonly recovered: number;
  readonly deferrals: number;
  readonly throttled: number;
  readonly bytes: number;
  readonly costMicros: number;
  readonly spend: SpendLimits;
}
