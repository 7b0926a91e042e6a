import {
  type BatchSnapshot,
  type HostSnapshot,
  type JobSnapshot,
  proxyOfScope,
  type StopReason,
  type WaitCause,
} from '@holdoff/throttle-core';

/** Why a job is where it is: the answer to "why does it wait, until when, who decided, on what evidence, what next". */
export interface JobExplanation {
  readonly state: 'waiting' | 'working' | 'done' | 'stopped';
  readonly why: string;
  /** Absolute, ms since the epoch; null: no instant. */
  readonly untilMs: number | null;
  readonly decidedBy: 'server' | 'policy' | 'owner' | 'fleet' | 'job';
  /** The newest line of the decision trail that says something about the cause; null: none is kept. */
  readonly evidence: string | null;
  readonly next: string;
}

/** Stop reasons that somebody else than the policy decides. */
const DECIDED_BY: Readonly<Partial<Record<StopReason, JobExplanation['decidedBy']>>> = {
  permanent: 'server',
  blocked: 'server',
  robots: 'server',
  cancelled: 'owner',
  not_approved: 'owner',
  invalid_url: 'job',
  poison: 'job',
};

/** Pure: live state in, sentences out. `host`: the scope in whose lane the job stands, its own host's or its proxy's. */
export function explainJob(
  job: JobSnapshot,
  host: HostSnapshot | undefined,
  batch: BatchSnapshot | undefined,
): JobExplanation {
  const evidence = job.trail[0] === undefined ? null : `${job.trail[0].event}: ${job.trail[0].detail}`;
  if (job.ended !== null) {
    const ended = { untilMs: null, evidence };
    if (job.ended.kind === 'done')
      return { ...ended, state: 'done', why: 'the page was delivered', decidedBy: 'server', next: 'nothing' };
    const { reason } = job.ended;
    return {
      ...ended,
      state: 'stopped',
      why: `it ended with reason ${reason}`,
      decidedBy: DECIDED_BY[reason] ?? 'policy',
      next: `nothing by itself; holdoff replay --batch ${job.batch} --reason ${reason} enters it again`,
    };
  }
  if (batch?.cancelled === true) {
    return wait('the batch was cancelled', null, 'owner', evidence, 'it ends as cancelled at its next turn');
  }
  if (job.waiting === null) {
    return {
      state: 'working',
      why: 'it is with a worker, or on its way to one',
      untilMs: null,
      decidedBy: 'fleet',
      evidence,
      next: 'its result is settled',
    };
  }
  return explainWait(job.waiting.cause, job, host, evidence);
}

function explainWait(
  cause: WaitCause,
  job: JobSnapshot,
  host: HostSnapshot | undefined,
  evidence: string | null,
): JobExplanation {
  const place = job.waiting?.place ?? null;
  const scope = job.waiting?.scope ?? job.host;
  const proxy = proxyOfScope(scope);
  const who = proxy === null ? 'the host' : `its proxy ${proxy}`;
  const inLine = place === null ? '' : `, ${place + 1}. in the line of ${scope}`;
  switch (cause) {
    case 'not_before':
      return wait(
        'it must not be sent before its own instant',
        job.facts.notBeforeMs,
        'job',
        evidence,
        'it asks for admission then',
      );
    case 'held':
      return wait(
        `${who} is held: ${host?.hold?.reason ?? 'by its owner'}${inLine}`,
        null,
        'owner',
        evidence,
        `holdoff host resume ${scope} lets it go on; otherwise it ends at its deadline`,
      );
    case 'cooldown':
      return wait(
        proxy === null
          ? `the server asked the whole fleet to wait${inLine}`
          : `${who} asked the whole fleet to wait${inLine}`,
        host?.cooldownUntilMs ?? job.facts.cooldownUntilMs,
        'server',
        evidence,
        proxy === null
          ? 'the host reopens with one request, then through a ramp'
          : 'it goes on when the proxy may be used again',
      );
    case 'circuit_open':
      return wait(
        proxy === null
          ? `the host's circuit is open${inLine}`
          : `${who} fails and is left alone${inLine}${host?.why == null ? '' : `; ${host.why}`}`,
        host?.circuit.openUntilMs ?? job.facts.openUntilMs,
        'policy',
        evidence,
        proxy === null
          ? 'one probe is sent; when it is served the circuit closes'
          : 'one request tries it; when it comes through, the others follow',
      );
    case 'probe_in_flight':
      return wait(
        proxy === null
          ? `one probe of the fleet is out${inLine}`
          : `one request of the fleet tries ${who}${inLine}`,
        host?.circuit.probe?.untilMs ?? null,
        'policy',
        evidence,
        'its result closes or opens the circuit',
      );
    default:
      return explainQueueing(cause, job, host, evidence, inLine);
  }
}

/** Waits that end by themselves, as others of the host are served. */
function explainQueueing(
  cause: 'turn' | 'slots' | 'pace',
  job: JobSnapshot,
  host: HostSnapshot | undefined,
  evidence: string | null,
  inLine: string,
): JobExplanation {
  switch (cause) {
    case 'turn':
      return wait(
        `others of the host are first${inLine}`,
        null,
        'fleet',
        evidence,
        'it is called when its turn comes',
      );
    case 'slots':
      return wait(
        `all slots of the host are taken${inLine}`,
        null,
        'policy',
        evidence,
        'it is called when a slot is free',
      );
    case 'pace':
      return wait(
        `the host's pace is ${paceOf(host)}${inLine}`,
        job.waiting?.untilMs ?? null,
        'fleet',
        evidence,
        'it is called when its instant comes',
      );
  }
}

function wait(
  why: string,
  untilMs: number | null,
  decidedBy: JobExplanation['decidedBy'],
  evidence: string | null,
  next: string,
): JobExplanation {
  return { state: 'waiting', why, untilMs, decidedBy, evidence, next };
}

export function paceOf(host: HostSnapshot | undefined): string {
  const intervalMs = host?.pace.effectiveIntervalMs ?? 0;
  if (intervalMs <= 0) return 'unlimited';
  const perSecond = 1_000 / intervalMs;
  return perSecond >= 1
    ? `${perSecond.toFixed(1)} requests/s`
    : `one request per ${(intervalMs / 1_000).toFixed(1)} s`;
}
