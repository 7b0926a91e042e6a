import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { DeliveryFault } from '../deliver-result.ts';
import { endedUrl, page } from '../testing/ended-url.ts';
import { createStreamSink } from './stream-sink.ts';

let server: LocalRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url, { maxRetriesPerRequest: 1 });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

const sinkOf = (stream: string, lengthMax = 1_000) =>
  createStreamSink({ redis, stream, lengthMax, bodyBytesMax: 10 });

async function entries(stream: string): Promise<Map<string, Buffer>[]> {
  const raw = (await redis.xrangeBuffer(stream, '-', '+')) as unknown as [Buffer, Buffer[]][];
  return raw.map(([, fields]) => {
    const map = new Map<string, Buffer>();
    for (let n = 0; n < fields.length; n += 2) map.set(String(fields[n]), fields[n + 1] ?? Buffer.alloc(0));
    return map;
  });
}

test('a result is an entry with key, line and the bytes of the body', async () => {
  const body = Buffer.from([0, 255, 13, 10, 128]);
  await sinkOf('{t}:a').deliver(endedUrl('j.1'), page(body));
  const [entry] = await entries('{t}:a');
  expect([...(entry?.keys() ?? [])]).toEqual(['key', 'result', 'body']);
  expect(String(entry?.get('key'))).toBe('j.1');
  expect(JSON.parse(String(entry?.get('result')))).toMatchObject({ key: 'j.1', outcome: 'done' });
  expect(entry?.get('body')).toEqual(body);
});

test('a body over the size stays out, with the reason; no body, no field', async () => {
  const sink = sinkOf('{t}:b');
  await sink.deliver(endedUrl('j.1'), page(Buffer.from('hello world')));
  await sink.deliver(endedUrl('j.2'), page(new Uint8Array()));
  const [large, none] = await entries('{t}:b');
  expect([...(large?.keys() ?? [])]).toEqual(['key', 'result', 'body_omitted']);
  expect(String(large?.get('body_omitted'))).toBe('11 bytes, at most 10 are sent along');
  expect([...(none?.keys() ?? [])]).toEqual(['key', 'result']);
});

test('the stream stays near its length, and the newest are kept', async () => {
  const sink = sinkOf('{t}:c', 100);
  for (let n = 0; n < 500; n += 1) await sink.deliver(endedUrl(`j.${n}`), page(new Uint8Array()));
  expect(await redis.xlen('{t}:c')).toBeLessThanOrEqual(200);
  expect(String((await entries('{t}:c')).at(-1)?.get('key'))).toBe('j.499');
});

test('a full Redis is a delivery fault, the probe sees it, and both heal', async () => {
  const sink = sinkOf('{t}:d');
  await redis.config('SET', 'maxmemory', '1');
  try {
    const fault = sink.deliver(endedUrl('j.1'), page(new Uint8Array()));
    await expect(fault).rejects.toBeInstanceOf(DeliveryFault);
    await expect(sink.probe()).rejects.toThrow('OOM');
  } finally {
    await redis.config('SET', 'maxmemory', '0');
  }
  await sink.probe();
  await sink.deliver(endedUrl('j.1'), page(new Uint8Array()));
  expect(await entries('{t}:d')).toHaveLength(1);
});
