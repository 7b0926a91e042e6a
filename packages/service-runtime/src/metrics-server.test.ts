import { Counter, Registry } from 'prom-client';
import { afterEach, expect, test } from 'vitest';
import { EventLoopLag } from './event-loop-lag.ts';
import type { ReadinessCheck } from './health.ts';
import { type MetricsServer, collectProcessMetrics, startMetricsServer } from './metrics-server.ts';

const open: MetricsServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(checks: readonly ReadinessCheck[] = [], progress?: () => string | null) {
  const registry = new Registry();
  const server = await startMetricsServer({
    host: '127.0.0.1',
    port: 0,
    registry,
    checks,
    ...(progress === undefined ? {} : { progress }),
  });
  open.push(server);
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      body: await response.text(),
    };
  };
  return { server, registry, get };
}

test('metrics are served in the Prometheus text format, process and event loop included', async () => {
  const { registry, get } = await serve();
  collectProcessMetrics(registry);
  const lag = new EventLoopLag(registry);
  new Counter({ name: 'things_total', help: 'Things.', registers: [registry] }).inc(3);
  const { status, type, body } = await get('/metrics');
  lag.stop();
  expect(status).toBe(200);
  expect(type).toContain('text/plain');
  expect(body).toMatch(/^things_total 3$/m);
  expect(body).toMatch(/^event_loop_lag_max_seconds \d/m);
  expect(body).toMatch(/^process_resident_memory_bytes \d/m);
});

test('a busy loop shows in the lag', async () => {
  const lag = new EventLoopLag(new Registry());
  await new Promise((resolve) => setTimeout(resolve, 30));
  const until = performance.now() + 150;
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(lag.maxMs).toBeGreaterThan(80);
  lag.stop();
});

test('readiness names what is missing; a check that hangs or throws is missing too', async () => {
  const { get } = await serve([
    { name: 'policy', check: () => null },
    { name: 'redis', check: async () => 'has maxmemory-policy allkeys-lru' },
    { name: 'frozen', check: () => new Promise<null>(() => undefined) },
    {
      name: 'broken',
      check: () => Promise.reject(Object.assign(new Error('http://u:pw@x'), { code: 'ECONNREFUSED' })),
    },
  ]);
  const { status, body } = await get('/readyz');
  expect(status).toBe(503);
  expect(JSON.parse(body)).toEqual({
    ok: false,
    checks: {
      policy: 'ok',
      redis: 'has maxmemory-policy allkeys-lru',
      frozen: 'no answer within 1000 ms',
      broken: 'failed (ECONNREFUSED)',
    },
  });
});

test('a draining process is alive but not ready', async () => {
  const { server, get } = await serve([{ name: 'redis', check: () => null }]);
  expect((await get('/readyz')).status).toBe(200);
  server.drain();
  expect((await get('/readyz')).status).toBe(503);
  expect((await get('/healthz')).status).toBe(200);
});

test('liveness fails when the work stands still', async () => {
  let problem: string | null = null;
  const { get } = await serve([], () => problem);
  expect((await get('/healthz')).status).toBe(200);
  problem = 'no batch for 120 s';
  expect(await get('/healthz')).toMatchObject({ status: 503, body: expect.stringContaining('120 s') });
});

test('anything else is refused', async () => {
  const { get } = await serve();
  expect((await get('/metrics', 'POST')).status).toBe(405);
  expect((await get('/../etc/passwd')).status).toBe(404);
  expect(await get('/healthz', 'HEAD')).toMatchObject({ status: 200, body: '' });
});

test('a port in use is one clear line', async () => {
  const { server } = await serve();
  const second = startMetricsServer({
    host: '127.0.0.1',
    port: server.port,
    registry: new Registry(),
    checks: [],
  });
  await expect(second).rejects.toThrow(
    `cannot listen on 127.0.0.1:${server.port} for metrics: the port is in use`,
  );
});
