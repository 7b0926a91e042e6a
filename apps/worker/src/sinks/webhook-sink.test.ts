import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DeliveryFault, type Sink } from '../deliver-result.ts';
import { endedUrl, page } from '../testing/ended-url.ts';
import { createWebhookSink, REFUSES_RESULT } from './webhook-sink.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let server: Server;
let received: Received[];
let status: number | 'silent' | 'drip';
beforeEach(async () => {
  received = [];
  status = 204;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      if (status === 'silent') return;
      if (status === 'drip') {
        response.writeHead(200);
        response.write('x');
        return;
      }
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const SECRET = 'a secret of some length';
const here = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=CANARY`;
const kept: [string, number][] = [];
const sinkTo = (url = here(), timeoutMs = 10_000): Sink =>
  createWebhookSink({
    url,
    secret: SECRET,
    bodyBytesMax: 10,
    timeoutMs,
    wallMs: () => 1_768_478_400_999,
    keepRefused: async ({ key }, refusal) => kept.push([key, refusal]),
  });

test('a result arrives signed over time and body, with its key for dropping duplicates', async () => {
  await sinkTo().deliver(endedUrl('j.1'), page(Buffer.from('hello')));
  const [{ headers, body }] = received as [Received];
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'idempotency-key': 'j.1',
    'x-holdoff-event': 'result',
    'x-holdoff-timestamp': '1768478400',
  });
  const expected = createHmac('sha256', SECRET).update(`1768478400.${body}`).digest('hex');
  expect(headers['x-holdoff-signature']).toBe(`v1=${expected}`);
  expect(JSON.parse(body)).toMatchObject({ key: 'j.1', status: 200, body: 'aGVsbG8=', bodyOmitted: null });
});

test('a body over the size stays out, with the reason', async () => {
  await sinkTo().deliver(endedUrl('j.1'), page(Buffer.from('hello world')));
  expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({
    body: null,
    bodyOmitted: '11 bytes, at most 10 are sent along',
  });
});

test.each([301, 307, 401, 403, 404, 408, 410, 425, 429, 500, 503])(
  '%i is a delivery fault, and is not followed',
  async (code) => {
    status = code;
    const fault = sinkTo().deliver(endedUrl('j.1'), page(new Uint8Array()));
    await expect(fault).rejects.toBeInstanceOf(DeliveryFault);
    await expect(fault).rejects.toThrow(`HTTP_${code}`);
    expect(received).toHaveLength(1);
  },
);

test('a receiver that says nothing is given up in time', async () => {
  status = 'silent';
  const fault = sinkTo(here(), 300).deliver(endedUrl('j.1'), page(new Uint8Array()));
  await expect(fault).rejects.toThrow('ETIMEDOUT');
});

test('what a receiver says beyond 2xx is not waited for', async () => {
  status = 'drip';
  await sinkTo().deliver(endedUrl('j.1'), page(new Uint8Array()));
  expect(received).toHaveLength(1);
});

test('a receiver that is away is a delivery fault without the secret parts of the address', async () => {
  const fault = sinkTo('http://127.0.0.1:1/hook?token=CANARY').deliver(
    endedUrl('j.1'),
    page(new Uint8Array()),
  );
  await expect(fault).rejects.toBeInstanceOf(DeliveryFault);
  await expect(fault).rejects.not.toThrow('CANARY');
});

test('the probe is a signed request of another event, and heals only on 2xx', async () => {
  status = 503;
  await expect(sinkTo().probe()).rejects.toThrow('503');
  status = 200;
  await sinkTo().probe();
  expect(received[1]?.headers).toMatchObject({ 'x-holdoff-event': 'probe' });
});

test.each([...REFUSES_RESULT])(
  '%i is about the one result: it is kept aside, and others go on',
  async (refusal) => {
    status = refusal;
    kept.length = 0;
    await sinkTo().deliver(endedUrl('j.1'), page(Buffer.from('hello')));
    expect(kept).toEqual([['j.1', refusal]]);
    expect(received).toHaveLength(1);
  },
);

test('the page of results names the answers that are about one result', async () => {
  const doc = await readFile(new URL('../../../../docs/results.md', import.meta.url), 'utf8');
  const codes = [...REFUSES_RESULT].map(String);
  expect(doc).toContain(`${codes.slice(0, -1).join(', ')} and ${codes.at(-1)} are about the one result`);
});
