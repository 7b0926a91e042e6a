import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { type Registry, collectDefaultMetrics } from 'prom-client';
import { type HealthReport, type Progress, type ReadinessCheck, liveness, readiness } from './health.ts';

export interface MetricsServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly registry: Registry;
  readonly checks: readonly ReadinessCheck[];
  readonly progress?: Progress;
}

export interface MetricsServer {
  readonly port: number;
  /** From now on `/readyz` says no, so that nothing new is sent here while the process drains. */
  drain(): void;
  close(): Promise<void>;
}

/**
 * `/metrics`, `/healthz` and `/readyz` on a port of their own, meant for the internal network.
 *
 * @throws Error naming host and port when they cannot be listened on
 */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  let draining = false;
  const server = createServer(
    { headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000, maxHeaderSize: 8_192 },
    (request, response) => {
      answer(request, response, options, () => draining).catch(() => response.destroy());
    },
  );
  server.maxConnections = 100;
  server.listen(options.port, options.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const reason = code === 'EADDRINUSE' ? 'the port is in use' : code;
    throw new Error(`cannot listen on ${options.host}:${options.port} for metrics: ${reason}`, {
      cause: error,
    });
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    drain: () => {
      draining = true;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** CPU, memory, handles, garbage collection and event loop of the process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: MetricsServerOptions,
  isDraining: () => boolean,
): Promise<void> {
  request.resume();
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'text/plain', '');
  switch (request.url?.split('?', 1)[0]) {
    case '/metrics':
      return send(response, 200, options.registry.contentType, await options.registry.metrics());
    case '/healthz':
      return sendReport(response, liveness(options.progress));
    case '/readyz': {
      const report = await readiness(options.checks);
      return sendReport(
        response,
        isDraining() ? { ok: false, checks: { ...report.checks, process: 'stopping' } } : report,
      );
    }
    default:
      return send(response, 404, 'text/plain', '');
  }
}

function sendReport(response: ServerResponse, report: HealthReport): void {
  send(response, report.ok ? 200 : 503, 'application/json', `${JSON.stringify(report)}\n`);
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
