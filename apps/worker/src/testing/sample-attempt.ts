import {
  createMemoryGate,
  type Gate,
  type HostKey,
  hostRulesOf,
  type JobId,
  type Policy,
  PRESETS,
} from '@holdoff/throttle-core';
import { parsePolicyFile, resolvePolicy, spendPolicyOf } from '@holdoff/throttle-core/policy-file';
import { ManualClock, sampleOutcome } from '@holdoff/throttle-core/testing';
import { type UrlJob, urlJobId } from '@holdoff/url-job';
import {
  Attempt,
  type AttemptEvent,
  type Delivery,
  type Scope,
  type Target,
  type WorkerParts,
} from '../attempt.ts';
import type { EndedUrl } from '../deliver-result.ts';
import type { PageExchange, PageRequest } from '../fetch-page.ts';
import { urlFingerprint } from '../redirect/next-hop.ts';
import { Unsettled } from '../unsettled.ts';

const URL_OF_JOB = 'https://site.example/page';

/** The id that {@link sampleJob} has. */
export const SAMPLE_JOB = urlJobId({ url: URL_OF_JOB, batch: 'nightly', method: 'GET' }) as string as JobId;

/** What a test saw of the parts that it gave to a delivery. */
export interface SeenParts {
  readonly fetched: PageRequest[];
  readonly delivered: EndedUrl[];
  readonly attempts: AttemptEvent[];
  readonly slept: number[];
}

export interface SampleWorld {
  readonly clock: ManualClock;
  readonly gate: Gate;
  readonly parts: WorkerParts;
  readonly seen: SeenParts;
}

/** Parts around a real gate in memory: one clock for the gate and the process, no network, no files. */
export function sampleWorld(
  answer: (request: PageRequest) => Partial<PageExchange> = () => ({}),
  change: Partial<WorkerParts> = {},
  policy: Policy = PRESETS.balanced,
): SampleWorld {
  const clock = new ManualClock();
  const gate = createMemoryGate({ now: clock.now });
  const seen: SeenParts = { fetched: [], delivered: [], attempts: [], slept: [] };
  const parts: WorkerParts = {
    gate,
    scopeOf: (url) => sampleScope(url, policy),
    fetchPage: async (request) => {
      seen.fetched.push(request);
      return sampleExchange(answer(request));
    },
    robots: {
      check: async () => ({ kind: 'allowed', crawlDelaySeconds: null, by: 'rules' }),
      learn: async () => null,
      learnRefused: () => Promise.resolve(),
      keepClaim: () => Promise.resolve(),
      giveUp: async () => undefined,
    },
    exitOf: () => null,
    workerId: 'w1',
    refuseUrl: () => null,
    headersOf: () => ({}),
    traceHeaders: () => ({}),
    conditionalHeaders: async () => ({}),
    remember: async () => undefined,
    handler: null,
    enterFollowUps: async () => {
      throw new Error('without a handler nothing is entered');
    },
    refusePayload: async () => ({ kind: 'complete', end: { kind: 'stopped', reason: 'poison' } }),
    deliver: async (ended) => void seen.delivered.push(ended),
    recordStopped: async () => undefined,
    call: () => undefined,
    lookWithin: () => undefined,
    events: {
      attempt: (event) => seen.attempts.push(event),
      waited: () => undefined,
      ended: () => undefined,
      deliveryFault: () => undefined,
    },
    unsettled: new Unsettled(),
    random01: () => 0.5,
    monotonicMs: clock.now,
    sleep: async (waitMs) => {
      seen.slept.push(waitMs);
      clock.advance(waitMs);
    },
    ...change,
  };
  return { clock, gate, parts, seen };
}

export function sampleJob(change: Partial<UrlJob> = {}): UrlJob {
  return {
    v: 1,
    url: URL_OF_JOB,
    batch: 'nightly',
    method: 'GET',
    priority: 50,
    notBeforeMs: null,
    deadlineMs: null,
    headersRef: null,
    enteredAtMs: 1_700_000_000_000,
    hop: null,
    ...change,
  };
}

export function sampleDelivery(change: Partial<Delivery> = {}): Delivery {
  return {
    job: SAMPLE_JOB,
    number: 1,
    data: sampleJob(),
    signal: new AbortController().signal,
    ...change,
  };
}

export function sampleAttempt(parts: WorkerParts, change: Partial<Delivery> = {}): Attempt {
  return new Attempt(sampleJob(), sampleDelivery(change), parts);
}

function sampleScope(url: string, policy: Policy): Scope {
  const parsed = parsePolicyFile('', 'balanced preset');
  if (parsed.kind === 'invalid') throw new Error('the balanced preset must be valid');
  const { hostname } = new URL(url);
  return {
    host: hostname as HostKey,
    policy,
    settings: resolvePolicy(parsed.file, hostname).settings,
    prices: spendPolicyOf(parsed.file),
    rules: hostRulesOf(policy),
    policyVersion: 1,
  };
}

export function sampleTarget(change: Partial<Target> = {}): Target {
  const url = change.url ?? URL_OF_JOB;
  return {
    url,
    hops: 0,
    visited: [urlFingerprint(url)],
    purpose: 'attempt',
    scope: sampleScope(url, PRESETS.balanced),
    ...change,
  };
}

/** A page that was served, until told otherwise. */
export function sampleExchange(change: Partial<PageExchange> = {}): PageExchange {
  return {
    outcome: sampleOutcome('served'),
    status: 200,
    headers: {},
    receivedAtMs: 0,
    body: new TextEncoder().encode('page'),
    bodyState: 'complete',
    wireBytes: 4,
    latencyMs: 20,
    durationMs: 30,
    redirectTo: null,
    sent: true,
    ...change,
  };
}
