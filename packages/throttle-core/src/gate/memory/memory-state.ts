import { CLOSED_CIRCUIT, type Circuit } from '../../core/circuit.ts';
import type { BatchId, HostKey, JobId } from '../../core/identifiers.ts';
import { NEW_PACE, type PaceState } from '../../core/pace.ts';
import { shareTokens } from '../../core/retry-budget.ts';
import type { StopReason } from '../../core/stop-reason.ts';
import type { BatchDefaults, JobEnd, PaceOverride, SettleReply, TrailEntry, WaitCause } from '../gate.ts';
import type { SettleProxyReply } from '../proxy-gate.ts';
import { SortedSet } from './sorted-set.ts';

/** One host: redis/fragments/host-state.lua and the sorted sets beside it. */
export interface HostEntry {
  readonly host: HostKey;
  /** False: only looked at so far. */
  known: boolean;
  cap: number;
  cooldownUntilMs: number;
  hold: { readonly reason: string; readonly by: string; readonly sinceMs: number } | null;
  circuit: Circuit;
  epoch: number;
  noHintEvents: number;
  pace: PaceState;
  override: PaceOverride;
  /** The interval computed last: what calling goes by. */
  intervalMs: number;
  /** Mean time from admission to settlement. */
  latencyMs: number;
  /** Micro-tokens; null: never spent or filled, the policy's start applies. */
  tokens: number | null;
  /** The answer that closed it last; of a proxy: how it failed. */
  why: string | null;
  whyAtMs: number;
  /** Lease, or job of a reserved slot -> expiry. */
  readonly leases: SortedSet;
  readonly lane: SortedSet;
  readonly called: SortedSet;
}

export interface JobEntry {
  readonly job: JobId;
  readonly host: HostKey;
  batch: BatchId;
  readonly priority: number;
  readonly sequence: number;
  readonly enteredAtMs: number;
  readonly deadlineMs: number;
  notBeforeMs: number;
  attempts: number;
  tokensSpent: number;
  run: number;
  throttledInRun: number;
  deferrals: number;
  /** Deferred, and not sent since: it may join a later run. */
  awaitsRun: boolean;
  /** Joined a run, and not sent since: its next attempt is the first one there, and no re-send. */
  isFresh: boolean;
  delivery: number;
  /** The last request settled with `continue`: a redirect may go on without a new attempt. */
  mayHop: boolean;
  /** The next request takes neither an attempt nor a token. */
  uncounted: boolean;
  /** How often that was granted for a result that could not be handed over. */
  redeliveries: number;
  /** The last answer was a throttle: cooldown and pace govern the re-send, not the host's retry tokens. */
  wasThrottled: boolean;
  nonce: string;
  tokensLeftThen: number | null;
  admissions: number;
  lease: string;
  leaseHost: HostKey | null;
  leaseUntilMs: number;
  admittedAtMs: number;
  reservedHost: HostKey | null;
  reservedUntilMs: number;
  waiting: { readonly cause: WaitCause; readonly untilMs: number } | null;
  lane: HostKey | null;
  requests: number;
  bytes: number;
  end: JobEnd | null;
  endedAtMs: number;
  lastEvidence: string;
  trail: TrailEntry[];
}

export interface BatchEntry {
  readonly batch: BatchId;
  readonly defaults: BatchDefaults;
  readonly createdAtMs: number;
  approved: boolean;
  cancelled: boolean;
  jobs: number;
  done: number;
  stopped: number;
  /** Its jobs that wait for a later run. */
  away: number;
  /** Its jobs that have joined one. */
  moved: number;
  readonly stoppedBy: Map<StopReason, number>;
  extraTokens: number;
  tokensSpent: number;
  attempts: number;
  requests: number;
  recovered: number;
  deferrals: number;
  throttled: number;
  bytes: number;
  costMicros: number;
  readonly topUps: Set<string>;
}

export type KeptReplies<Reply> = Map<string, { readonly reply: Reply; readonly untilMs: number }>;

/** Everything the gate knows. */
export interface MemoryState {
  readonly hosts: Map<HostKey, HostEntry>;
  readonly jobs: Map<JobId, JobEntry>;
  readonly batches: Map<BatchId, BatchEntry>;
  readonly wheel: SortedSet;
  readonly deadlines: SortedSet;
  /** Answers of `settle` by nonce. */
  readonly replies: KeptReplies<SettleReply>;
  /** Answers of `settleProxy` by nonce. */
  readonly proxyReplies: KeptReplies<SettleProxyReply>;
  sequence: number;
}

export function newMemoryState(): MemoryState {
  return {
    hosts: new Map(),
    jobs: new Map(),
    batches: new Map(),
    wheel: new SortedSet(),
    deadlines: new SortedSet(),
    replies: new Map(),
    proxyReplies: new Map(),
    sequence: 0,
  };
}

export function hostOf(state: MemoryState, host: HostKey): HostEntry {
  const known = state.hosts.get(host);
  if (known !== undefined) return known;
  const entry: HostEntry = {
    host,
    known: false,
    cap: 0,
    cooldownUntilMs: 0,
    hold: null,
    circuit: CLOSED_CIRCUIT,
    epoch: 0,
    noHintEvents: 0,
    pace: NEW_PACE,
    override: { kind: 'none' },
    intervalMs: 0,
    latencyMs: 0,
    tokens: null,
    why: null,
    whyAtMs: 0,
    leases: new SortedSet(),
    lane: new SortedSet(),
    called: new SortedSet(),
  };
  state.hosts.set(host, entry);
  return entry;
}

type NewJob = Pick<
  JobEntry,
  'job' | 'host' | 'batch' | 'priority' | 'sequence' | 'enteredAtMs' | 'deadlineMs' | 'notBeforeMs'
>;

export function newJob(given: NewJob): JobEntry {
  return {
    ...given,
    attempts: 0,
    tokensSpent: 0,
    run: 1,
    throttledInRun: 0,
    wasThrottled: false,
    deferrals: 0,
    awaitsRun: false,
    isFresh: false,
    delivery: 0,
    mayHop: false,
    uncounted: false,
    redeliveries: 0,
    nonce: '',
    tokensLeftThen: null,
    admissions: 0,
    lease: '',
    leaseHost: null,
    leaseUntilMs: 0,
    admittedAtMs: 0,
    reservedHost: null,
    reservedUntilMs: 0,
    waiting: null,
    lane: null,
    requests: 0,
    bytes: 0,
    end: null,
    endedAtMs: 0,
    lastEvidence: '',
    trail: [],
  };
}

export function newBatch(batch: BatchId, defaults: BatchDefaults, nowMs: number): BatchEntry {
  return {
    batch,
    defaults,
    createdAtMs: nowMs,
    approved: defaults.approved,
    cancelled: false,
    jobs: 0,
    done: 0,
    stopped: 0,
    away: 0,
    moved: 0,
    stoppedBy: new Map(),
    extraTokens: 0,
    tokensSpent: 0,
    attempts: 0,
    requests: 0,
    recovered: 0,
    deferrals: 0,
    throttled: 0,
    bytes: 0,
    costMicros: 0,
    topUps: new Set(),
  };
}

/** null: the bucket is off. */
export function batchTokens(entry: BatchEntry): { readonly total: number; readonly spent: number } | null {
  const { tokens } = entry.defaults;
  if (tokens.kind === 'off') return null;
  const base = tokens.kind === 'fixed' ? tokens.total : shareTokens(tokens.share, tokens.least, entry.jobs);
  return { total: base + entry.extraTokens, spent: entry.tokensSpent };
}

export function batchTokensLeft(entry: BatchEntry | undefined): number | null {
  const tokens = entry === undefined ? null : batchTokens(entry);
  return tokens === null ? null : Math.max(0, tokens.total - tokens.spent);
}

/** The lane's order: priority, then age; fixed for the job's life, so a retried job keeps its place. */
export function laneScore(job: Pick<JobEntry, 'priority' | 'sequence'>): number {
  return job.priority * 10_000_000_000_000 + job.sequence;
}

const TRAIL_MOST = 20;

export function addTrail(job: JobEntry, atMs: number, event: string, detail: string): void {
  job.trail.unshift({ atMs, event, detail });
  job.trail.length = Math.min(job.trail.length, TRAIL_MOST);
}
