import { createLogger } from '@holdoff/service-runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from '../create-fetch-page.ts';
import { openProxy } from '../proxy/proxy-settings.ts';
import { safeUrl } from '../safe-url.ts';
import { pageRequest } from '../testing/page-request.ts';
import { answer, type RawServer, rawServer } from '../testing/raw-server.ts';
import { httpProxy, type StubProxy } from '../testing/stub-proxy.ts';

const CANARIES = ['CANARY-query', 'CANARY-header', 'CANARY-cookie', 'CANARY-proxy', 'CANARY-user'];
const encoded = CANARIES.map((canary) =>
  Buffer.from(canary).toString('base64').replaceAll('=', '').slice(0, 12),
);

let fetcher: PageFetcher;
let server: RawServer;
let proxy: StubProxy;

beforeAll(async () => {
  server = await rawServer((socket, head) => {
    if (head.includes('/reset')) socket.resetAndDestroy();
    else if (head.includes('/bomb')) socket.write(answer('200 OK', ['Content-Encoding: evil'], 'x'));
    else if (head.includes('/garbage')) socket.end('nonsense\r\n\r\n');
    else if (head.includes('/refused'))
      socket.write(answer('429 Too Many Requests', ['Retry-After: 5'], 'x'));
    else if (head.includes('/cut')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx');
  });
  proxy = await httpProxy((socket) => socket.end('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n'));
  const opened = await openProxy(
    { name: 'p1', url: proxy.url, credentials: { variable: 'LOGIN' }, resolve: 'here' },
    { LOGIN: 'CANARY-user:CANARY-proxy' },
  );
  fetcher = createFetchPage({
    addresses: { extraPorts: [], allowedNetworks: ['127.0.0.1/32'] },
    userAgent: 'Holdoff/test',
    resolve: async (name) => (name === 'inner.test' ? ['10.0.0.1'] : ['127.0.0.1']),
    proxies: [opened],
  });
});
afterAll(async () => {
  fetcher.close();
  await server.close();
  await proxy.close();
});

test.each([
  ['reset', '/reset', {}],
  ['unknown coding', '/bomb', {}],
  ['garbage', '/garbage', {}],
  ['throttled', '/refused', {}],
  ['truncated', '/cut', {}],
  ['no answer in time', '/never', {}],
  ['proxy refuses us', '/x', { exit: { proxy: 'p1', session: null } }],
  ['header that cannot be sent', '/x', { headers: { authorization: 'CANARY-header\n' } }],
] as const)('%s: what is told and logged of it holds no secret', async (_, path, overrides) => {
  const url = `http://shop.test:${server.port}${path}?token=CANARY-query`;
  const page = await fetcher.fetchPage(
    pageRequest(url, {
      budgetMs: 300,
      headers: { authorization: 'Bearer CANARY-header', cookie: 'id=CANARY-cookie' },
      ...overrides,
    }),
  );
  const lines: string[] = [];
  const logger = createLogger({
    service: 'worker',
    instance: 'test',
    level: 'trace',
    stream: { write: (line: string) => void lines.push(line) },
  });
  logger.info('attempt', { url: safeUrl(url), outcome: page.outcome, exchange: page });
  expect(canariesIn(JSON.stringify(page))).toEqual([]);
  expect(lines.length).toBeGreaterThan(0);
  expect(canariesIn(lines.join(''))).toEqual([]);
});

test('a URL that is refused is not repeated in the refusal', async () => {
  for (const url of [
    'http://CANARY-user:CANARY-proxy@shop.test/',
    'http://inner.test/?key=CANARY-query',
    'gopher://shop.test/CANARY-query',
    'http://CANARY-query..test/',
  ]) {
    const page = await fetcher.fetchPage(pageRequest(url));
    expect(page.outcome.stop).not.toBeNull();
    expect(canariesIn(JSON.stringify(page))).toEqual([]);
  }
});

function canariesIn(text: string): readonly string[] {
  const lower = text.toLowerCase();
  return [...CANARIES, ...encoded].filter((canary) => lower.includes(canary.toLowerCase()));
}
