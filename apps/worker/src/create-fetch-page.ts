import { performance } from 'node:perf_hooks';
import { AttemptBudget } from './fetch/attempt-budget.ts';
import { outcomeOfFault } from './fetch/classify-exchange.ts';
import type { FetchFault } from './fetch/fetch-fault.ts';
import { runExchange } from './fetch/run-exchange.ts';
import type { FetchPage, PageExchange } from './fetch-page.ts';
import { AddressGuard, type AddressGuardSettings } from './guard/address-guard.ts';
import { checkUrl } from './guard/check-url.ts';
import { createDirectAgents } from './guard/direct-agents.ts';
import { closeExit, type Exit, routeOf } from './guard/exit.ts';
import { DEFAULT_POOL, NO_POOL, type PoolLimits } from './guard/pool-limits.ts';
import { createResolver, DEFAULT_RESOLVER, type Resolve } from './guard/resolver.ts';
import { ExitPool } from './proxy/exit-pool.ts';
import { failureOfStatus, proxyFailureOf } from './proxy/proxy-failure.ts';
import type { Proxy } from './proxy/proxy-settings.ts';

export interface FetchPageSettings {
  readonly addresses: AddressGuardSettings;
  /** Sent with every request; names the operator and how to reach them. */
  readonly userAgent: string;
  readonly pool?: PoolLimits;
  /** Absent: DNS servers and hosts file of the machine. */
  readonly resolve?: Resolve;
  /** What `PageRequest.exit` may name. */
  readonly proxies?: readonly Proxy[];
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
  const limits = settings.pool ?? DEFAULT_POOL;
  const direct: Exit = {
    pooled: createDirectAgents(guard, resolve, limits),
    fresh: createDirectAgents(guard, resolve, NO_POOL),
    route: 'direct',
    plainRoute: 'direct',
  };
  const exits = new ExitPool(settings.proxies ?? [], guard, resolve, limits);

  const fetchPage: FetchPage = async (request) => {
    const startedAt = performance.now();
    const elapsedMs = (): number => performance.now() - startedAt;
    const verdict = checkUrl(request.url, guard);
    if (verdict.kind === 'refused') {
      const fault = { kind: 'refused', stop: verdict.stop, detail: verdict.detail } as const;
      return failedExchange(fault, false, 'direct', elapsedMs());
    }
    const exit = request.exit == null ? direct : exits.exit(request.exit);
    const budget = new AttemptBudget(request.budgetMs, request.signal);
    try {
      const result = await runExchange(request, verdict.url, settings.userAgent, exit, budget);
      if (result.kind === 'failed')
        return failedExchange(result.fault, result.sent, routeOf(exit, verdict.url), elapsedMs());
      const { kind: _, ...facts } = result;
      return { ...facts, durationMs: elapsedMs(), sent: true, ...ofProxy(facts) };
    } finally {
      budget.dispose();
    }
  };
  return {
    fetchPage,
    guard,
    close: () => {
      closeExit(direct);
      exits.close();
    },
  };
}

function failedExchange(
  fault: FetchFault,
  sent: boolean,
  route: Exit['plainRoute'],
  durationMs: number,
): PageExchange {
  const outcome = outcomeOfFault(fault, route);
  return {
    outcome,
    status: 0,
    headers: {},
    receivedAtMs: 0,
    body: new Uint8Array(0),
    bodyState: 'none',
    wireBytes: 0,
    latencyMs: 0,
    durationMs,
    redirectTo: null,
    sent,
    proxyFailure: outcome.source === 'proxy' ? proxyFailureOf(fault) : null,
    proxyAnswer: fault.kind === 'proxy' ? fault.answer : null,
  };
}

/** An answer to a plain request through a proxy may be the proxy's own. */
function ofProxy(
  answer: Pick<PageExchange, 'outcome' | 'status' | 'headers' | 'receivedAtMs'>,
): Pick<PageExchange, 'proxyFailure' | 'proxyAnswer'> {
  const { outcome, status, headers, receivedAtMs } = answer;
  if (outcome.source !== 'proxy') return { proxyFailure: null, proxyAnswer: null };
  return { proxyFailure: failureOfStatus({ status }), proxyAnswer: { status, headers, receivedAtMs } };
}
