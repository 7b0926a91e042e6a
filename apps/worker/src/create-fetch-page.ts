import { performance } from 'node:perf_hooks';
import { AttemptBudget } from './fetch/attempt-budget.ts';
import { outcomeOfFault } from './fetch/classify-exchange.ts';
import type { FetchPage, PageExchange } from './fetch-page.ts';
import { type Answered, type Failed, runExchange } from './fetch/run-exchange.ts';
import { AddressGuard, type AddressGuardSettings } from './guard/address-guard.ts';
import { checkUrl } from './guard/check-url.ts';
import { createDirectAgents } from './guard/direct-agents.ts';
import { DEFAULT_POOL, NO_POOL, type PoolLimits } from './guard/pool-limits.ts';
import { createResolver, DEFAULT_RESOLVER, type Resolve } from './guard/resolver.ts';

export interface FetchPageSettings {
  readonly addresses: AddressGuardSettings;
  /** Sent with every request; names the operator and how to reach them. */
  readonly userAgent: string;
  readonly pool?: PoolLimits;
  /** Absent: DNS servers and hosts file of the machine. */
  readonly resolve?: Resolve;
}

export interface PageFetcher {
  readonly fetchPage: FetchPage;
  /** For judging a URL before a job is admitted, and redirect targets. */
  readonly guard: AddressGuard;
  /** Closes all sockets. */
  close(): void;
}

/** One bounded request at a time, over pooled sockets that only go where the address guard allows. */
export function createFetchPage(settings: FetchPageSettings): PageFetcher {
  const guard = new AddressGuard(settings.addresses);
  const resolve = settings.resolve ?? createResolver(DEFAULT_RESOLVER);
  const pooled = createDirectAgents(guard, resolve, settings.pool ?? DEFAULT_POOL);
  const fresh = createDirectAgents(guard, resolve, NO_POOL);

  const fetchPage: FetchPage = async (request) => {
    const startedAt = performance.now();
    const verdict = checkUrl(request.url, guard);
    if (verdict.kind === 'refused') {
      return asExchange(
        {
          kind: 'failed',
          fault: { kind: 'refused', stop: verdict.stop, detail: verdict.detail },
          sent: false,
        },
        startedAt,
      );
    }
    const budget = new AttemptBudget(request.budgetMs, request.signal);
    try {
      const result = await runExchange(request, verdict.url, settings.userAgent, { pooled, fresh }, budget);
      return asExchange(result, startedAt);
    } finally {
      budget.dispose();
    }
  };
  return {
    fetchPage,
    guard,
    close: () => {
      pooled.destroy();
      fresh.destroy();
    },
  };
}

const NO_BODY = new Uint8Array(0);

function asExchange(result: Answered | Failed, startedAt: number): PageExchange {
  const durationMs = performance.now() - startedAt;
  if (result.kind === 'answered') {
    const { kind: _, ...facts } = result;
    return { ...facts, durationMs, sent: true };
  }
  return {
    outcome: outcomeOfFault(result.fault),
    status: 0,
    headers: {},
    receivedAtMs: 0,
    body: NO_BODY,
    bodyState: 'none',
    wireBytes: 0,
    latencyMs: 0,
    durationMs,
    redirectTo: null,
    sent: result.sent,
  };
}
