import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { JobId, WheelTimer } from '@holdoff/throttle-core';
import { chooseExit, type ProxyPools } from '@holdoff/url-job';
import type { AttemptEvents, WorkerParts } from './attempt.ts';
import type { PageFetcher } from './create-fetch-page.ts';
import { deliverResult, type Sink } from './deliver-result.ts';
import { checkUrl } from './guard/check-url.ts';
import { type FailAt, withFailPoint } from './fail-point.ts';
import { enterFollowUps } from './handler/enter-follow-ups.ts';
import type { HandlerPool } from './handler/handler-pool.ts';
import type { HeaderSet } from './header-sets.ts';
import type { PolicyView } from './policy-view.ts';
import { refusePayload } from './refuse-payload.ts';
import { ROBOTS_DEFAULTS, RobotsBook } from './robots/robots-book.ts';
import { recordStopped } from './record-stopped.ts';
import type { Stores } from './stores.ts';
import { Unsettled } from './unsettled.ts';
import { ValidatorStore } from './validators/validator-store.ts';
import { workerKeys } from './worker-keys.ts';

export interface PartsInput {
  readonly workerId: string;
  readonly deployment: string;
  /** Identity of the place where results go. */
  readonly resultsId: string;
  readonly stores: Stores;
  readonly policy: PolicyView;
  readonly fetcher: PageFetcher;
  readonly sinks: readonly Sink[];
  readonly events: AttemptEvents;
  readonly call: (jobs: readonly JobId[]) => Promise<void>;
  readonly wheel: Pick<WheelTimer, 'lookWithin'>;
  readonly pools: ProxyPools;
  readonly headerSets: ReadonlyMap<string, HeaderSet>;
  readonly handler: HandlerPool | null;
  /** The name robots.txt files know us by. */
  readonly productToken: string;
  /** URLs that handlers may add to one batch. */
  readonly followMax: number;
  /** Stopped jobs kept to browse and replay. */
  readonly stoppedKept: number;
  /** Sends job id, attempt and admission instant along, for origins that check us in tests. */
  readonly traceHeaders: boolean;
  /** null outside tests. */
  readonly failAt: FailAt | null;
}

/** Puts together what a delivery needs. */
export function createWorkerParts(input: PartsInput): WorkerParts {
  const parts = joinParts(input);
  return input.failAt === null ? parts : withFailPoint(parts, input.failAt);
}

function joinParts(input: PartsInput): WorkerParts {
  const keys = workerKeys(input.deployment, input.resultsId);
  const validators = new ValidatorStore(input.stores.queueRedis, keys);
  const { stores, policy, fetcher, sinks, events, call, wheel } = input;
  return {
    gate: stores.gate,
    scopeOf: (url) => policy.scopeOf(url),
    fetchPage: fetcher.fetchPage,
    exitOf: ({ delivery, batch }, { scope }) => {
      const { proxyRef } = scope.settings;
      if (proxyRef === null) return null;
      const pool = input.pools.get(proxyRef);
      return pool && chooseExit(pool, { host: scope.host, batch, job: delivery.job });
    },
    workerId: input.workerId,
    robots: new RobotsBook({
      ...ROBOTS_DEFAULTS,
      productToken: input.productToken,
      redis: stores.queueRedis,
      keys,
      monotonicMs: () => performance.now(),
    }),
    refuseUrl(url) {
      const verdict = checkUrl(url, fetcher.guard);
      return verdict.kind === 'ok' ? null : { reason: verdict.stop, detail: verdict.detail };
    },
    headersOf: (headersRef) => (headersRef === null ? {} : input.headerSets.get(headersRef)),
    traceHeaders: ({ delivery }, admitted) =>
      input.traceHeaders
        ? {
            'x-holdoff-job': delivery.job,
            'x-holdoff-attempt': String(admitted.attempt),
            'x-holdoff-admitted-at': String(admitted.admittedAtMs),
          }
        : {},
    // Losing what is remembered of a page costs traffic, nothing else.
    // A handler needs the page itself: "unchanged" has neither data nor links.
    conditionalHeaders: (url, headersRef) =>
      input.handler === null
        ? validators.conditionalHeaders(url, headersRef).catch(() => ({}))
        : Promise.resolve({}),
    remember: (url, headersRef, exchange) =>
      validators.delivered(url, headersRef, exchange).catch(() => undefined),
    refusePayload: (delivery, fault) =>
      refusePayload(delivery, fault, { stores, call: (jobs) => void call(jobs) }),
    handler: input.handler,
    enterFollowUps: (job, finalUrl, links, reads) =>
      enterFollowUps(
        {
          redis: stores.gateRedis,
          inbox: stores.names.inbox,
          followedKey: (batch) => keys.followed(batch),
          perBatchMax: input.followMax,
        },
        job,
        finalUrl,
        links,
        reads,
      ),
    deliver: (ended, page, taken, again) => deliverResult(sinks, ended, page, taken, again),
    recordStopped: (job, ended) =>
      recordStopped(stores, { job, ended, host: policy.scopeOf(job.url).host, kept: input.stoppedKept }),
    call: (jobs) => void call(jobs),
    lookWithin: (delayMs) => wheel.lookWithin(delayMs),
    events,
    unsettled: new Unsettled(),
    random01: Math.random,
    monotonicMs: () => performance.now(),
    sleep: (waitMs, signal) => delay(waitMs, undefined, { signal }).catch(() => undefined),
  };
}
