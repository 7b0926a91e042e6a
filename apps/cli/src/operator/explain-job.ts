import {
  type BatchSnapshot,
  type HostSnapshot,
  type JobSnapshot,
  proxyOfScope,
  type TrailEntry,
  type WaitCause,
} from '@holdoff/throttle-core';
import { type Decider, STOPS } from './explain-stop.ts';

/** Why a job is where it is: the answer to "why does it wait, until when, who decided, on what evidence, what next". */
export interface JobExplanation {
  readonly state: 'waiting' | 'working' | 'done' | 'stopped';
  readonly why: string;
  /** Absolute, ms since the epoch; null: no instant. */
  readonly untilMs: number | null;
  /** The instant is reckoned from the line and the pace; it can be later. */
  readonly isEstimate: boolean;
  readonly decidedBy: Decider;
  /** What was seen and when; null: nothing is kept. */
  readonly evidence: string | null;
  readonly next: string;
}

interface Case {
  readonly job: JobSnapshot;
  /** The scope in whose lane the job stands, its own host's, a redirect target's or its proxy's. */
  readonly host: HostSnapshot | undefined;
  readonly batch: BatchSnapshot | undefined;
  readonly proxy: string | null;
  /** `the host`, `its proxy p1`, `b.example, to which it was redirected`. */
  readonly who: string;
  /** `, 3. in the line of a.example`, or nothing. */
  readonly inLine: string;
}

type Told = Omit<JobExplanation, 'state' | 'isEstimate'> & { readonly isEstimate?: boolean };

/** Pure: live state in, sentences out. */
export function explainJob(
  job: JobSnapshot,
  host: HostSnapshot | undefined,
  batch: BatchSnapshot | undefined,
): JobExplanation {
  if (job.ended !== null) return explainEnd(job);
  const scope = job.waiting?.scope ?? job.host;
  const proxy = proxyOfScope(scope);
  const place = job.waiting?.place ?? null;
  const who =
    proxy !== null
      ? `its proxy ${proxy}`
      : scope === job.host
        ? 'the host'
        : `${scope}, to which it was redirected,`;
  const inLine = place === null ? '' : `, ${place + 1}. in the line of ${scope}`;
  const one: Case = { job, host, batch, proxy, who, inLine };
  const refused = refusedByBatch(one);
  if (refused !== null) return waiting(refused);
  if (job.waiting === null) return explainWork(job);
  const told = explainWait(job.waiting.cause, one);
  return waiting({ ...told, next: outOfBudget(one) ?? told.next });
}

function waiting(told: Told): JobExplanation {
  return { state: 'waiting', isEstimate: false, ...told };
}

function explainEnd(job: JobSnapshot): JobExplanation {
  const ended = { untilMs: null, isEstimate: false, evidence: lineOf(job.trail[0]) } as const;
  if (job.ended?.kind !== 'stopped')
    return { ...ended, state: 'done', why: 'the page was delivered', decidedBy: 'server', next: 'nothing' };
  const { reason } = job.ended;
  const { why, decidedBy } = STOPS[reason];
  return {
    ...ended,
    state: 'stopped',
    why: `${reason}: ${why}`,
    decidedBy,
    next: `nothing by itself; holdoff replay --batch ${job.batch} --reason ${reason} --deadline 6h enters it again`,
  };
}

function explainWork(job: JobSnapshot): JobExplanation {
  const admitted = job.trail[0]?.event === 'admitted';
  return {
    state: 'working',
    why: admitted
      ? 'its request is out, or its page is with the worker'
      : 'it is with a worker, or on its way to one',
    untilMs: null,
    isEstimate: false,
    decidedBy: 'fleet',
    evidence: lineOf(job.trail[0]),
    next: admitted ? 'its result is settled' : 'the worker reads robots.txt and asks for admission',
  };
}

/** What its batch will say at its next turn, whatever it waits for now. */
function refusedByBatch({ job, batch }: Case): Told | null {
  if (batch === undefined || (!batch.cancelled && batch.approved)) return null;
  const said = { untilMs: null, decidedBy: 'owner', evidence: lineOf(job.trail[0]) } as const;
  if (batch.cancelled)
    return { ...said, why: 'the batch was cancelled', next: 'it ends as cancelled at its next turn' };
  return {
    ...said,
    why: 'the batch is not approved',
    next: `holdoff batch approve ${job.batch} lets it be sent; without that it ends as not_approved at its next turn`,
  };
}

/** Its next turn is its last, as things are; null: it is not. */
function outOfBudget({ job, batch }: Case): string | null {
  if (batch === undefined) return null;
  const { bytesMax, requestsMax, costMicrosMax } = batch.spend;
  const isSpent =
    (bytesMax > 0 && batch.bytes >= bytesMax) ||
    (requestsMax > 0 && batch.requests >= requestsMax) ||
    (costMicrosMax > 0 && batch.costMicros >= costMicrosMax);
  if (isSpent) return 'it ends as spend at its next turn: the batch has reached a limit';
  if (job.facts.attempts > 0 && job.facts.batchTokensLeft === 0)
    return `it ends as retry_budget at its next turn, unless holdoff batch top-up ${job.batch} gives it tokens`;
  return null;
}

function explainWait(cause: WaitCause, one: Case): Told {
  const { job, host, proxy, who, inLine } = one;
  const scope = job.waiting?.scope ?? job.host;
  const evidence = closedBy(one);
  switch (cause) {
    case 'not_before':
      return explainInstant(one);
    case 'held': {
      const hold = host?.hold ?? null;
      return {
        why: `${who} is held: ${hold?.reason ?? 'by its owner'}${inLine}`,
        untilMs: null,
        decidedBy: hold?.by === 'policy' ? 'policy' : 'owner',
        evidence:
          hold === null
            ? evidence
            : `${at(hold.sinceMs)} held by ${hold.by}${evidence === null ? '' : `; ${evidence}`}`,
        next: `holdoff host resume ${scope} lets it go on; otherwise it ends at its deadline`,
      };
    }
    case 'cooldown':
      return {
        why: `${proxy === null ? (scope === job.host ? 'the server' : who) : who} asked the whole fleet to wait${inLine}`,
        untilMs: host?.cooldownUntilMs ?? job.facts.cooldownUntilMs,
        decidedBy: proxy === null ? 'server' : 'proxy',
        evidence,
        next:
          proxy === null
            ? 'the host reopens with one request, then through a ramp'
            : 'it goes on when the proxy may be used again',
      };
    case 'circuit_open':
      return {
        why:
          proxy === null
            ? `the circuit of ${scope} is open${inLine}`
            : `${who} fails and is left alone${inLine}${host?.why == null ? '' : `; ${host.why}`}`,
        untilMs: host?.circuit.openUntilMs ?? job.facts.openUntilMs,
        decidedBy: 'policy',
        evidence,
        next:
          proxy === null
            ? 'one probe is sent; when it is served the circuit closes'
            : 'one request tries it; when it comes through, the others follow',
      };
    case 'probe_in_flight':
      return {
        why:
          proxy === null
            ? `one probe of the fleet is out${inLine}`
            : `one request of the fleet tries ${who}${inLine}`,
        untilMs: host?.circuit.probe?.untilMs ?? null,
        decidedBy: 'policy',
        evidence,
        next: 'its result closes or opens the circuit',
      };
    case 'turn':
    case 'slots':
    case 'pace':
      return explainQueueing(cause, one);
  }
}

/** Waits for an instant of its own: it was told to at the start, or an answer to it said so. */
function explainInstant({ job }: Case): Told {
  const cause = job.trail.find(({ event }) => event !== 'wait');
  const said = { untilMs: job.facts.notBeforeMs, evidence: lineOf(cause) };
  const decidedBy = deciderOf(cause);
  switch (cause?.event) {
    case 'defer':
      return {
        ...said,
        decidedBy,
        why: 'it was deferred: its run is over, and it goes on in the next one',
        next: 'it asks for admission then; if its schedule begins a run before, it joins that under its id',
      };
    case 'joined':
      return {
        ...said,
        decidedBy: 'fleet',
        why: `it was deferred, and has joined the run ${job.batch}`,
        next: 'it asks for admission then',
      };
    case 'retry_at':
      return {
        ...said,
        decidedBy,
        why: 'it is sent again, and not before then',
        next: 'it asks for admission then',
      };
    case 'continue':
      return {
        ...said,
        decidedBy,
        why: 'the redirect, or the result that is not handed over yet, goes on at its own instant',
        next: 'it asks for admission then',
      };
    default:
      return {
        ...said,
        decidedBy: 'job',
        why: 'it must not be sent before its own instant',
        next: 'it asks for admission then',
      };
  }
}

/** The evidence of an attempt ends in what the planner let decide. */
function deciderOf(cause: TrailEntry | undefined): Decider {
  return /the server's wait is|the host's cooldown is|too long for this run/.test(cause?.detail ?? '')
    ? 'server'
    : 'policy';
}

/** Waits that end by themselves, as others of the host are served. */
function explainQueueing(cause: 'turn' | 'slots' | 'pace', one: Case): Told {
  const { job, host, inLine } = one;
  const scope = job.waiting?.scope ?? job.host;
  const evidence = lineOf(job.trail.find(({ event }) => event !== 'entered') ?? job.trail[0]);
  const about = estimate(one);
  switch (cause) {
    case 'turn':
      return {
        ...about,
        why: `others of ${scope} are first${inLine}`,
        decidedBy: 'fleet',
        evidence,
        next: 'it is called when its turn comes',
      };
    case 'slots':
      return {
        untilMs: null,
        why: `all slots of ${scope} are taken${inLine}`,
        decidedBy: 'policy',
        evidence,
        next: 'it is called when a slot is free',
      };
    case 'pace':
      return {
        ...(about.untilMs === null ? { untilMs: job.waiting?.untilMs ?? null } : about),
        why: `the pace of ${scope} is ${paceOf(host)}${inLine}`,
        decidedBy: 'fleet',
        evidence,
        next: 'it is called when its instant comes',
      };
  }
}

/** When a job of the line is sent if nothing comes between: those before it, one interval each, after the host opens. */
function estimate({ job, host }: Case): { readonly untilMs: number | null; readonly isEstimate?: boolean } {
  const place = job.waiting?.place ?? null;
  const intervalMs = host?.pace.effectiveIntervalMs ?? 0;
  if (host === undefined || place === null || intervalMs <= 0 || host.hold !== null) return { untilMs: null };
  const opensMs = Math.max(host.nowMs, host.cooldownUntilMs, host.pace.nextAtMs);
  const untilMs = Math.ceil(opensMs + place * intervalMs);
  return untilMs <= host.nowMs ? { untilMs: null } : { untilMs, isEstimate: true };
}

/** What closed the host, which another job may have met. */
function closedBy({ job, host }: Case): string | null {
  if (host !== undefined && host.why !== null && host.whyAtMs > 0) return `${at(host.whyAtMs)} ${host.why}`;
  return lineOf(job.trail.find(({ event }) => event !== 'wait'));
}

function lineOf(entry: TrailEntry | undefined): string | null {
  return entry === undefined ? null : `${at(entry.atMs)} ${entry.event}: ${readableInstants(entry.detail)}`;
}

function at(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** The trail keeps instants as the gate counts them. */
export function readableInstants(detail: string): string {
  return detail.replaceAll(/\buntil (\d{13})\b/g, (_, ms: string) => `until ${at(Number(ms))}`);
}

export function paceOf(host: HostSnapshot | undefined): string {
  const intervalMs = host?.pace.effectiveIntervalMs ?? 0;
  if (intervalMs <= 0) return 'unlimited';
  const perSecond = 1_000 / intervalMs;
  return perSecond >= 1
    ? `${perSecond.toFixed(1)} requests/s`
    : `one request per ${(intervalMs / 1_000).toFixed(1)} s`;
}
