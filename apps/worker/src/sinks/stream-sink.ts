import type { Redis } from 'ioredis';
import { DeliveryFault, type DeliveredPage, type EndedUrl, type Sink } from '../deliver-result.ts';
import { inlineBody } from './inline-body.ts';

export interface StreamSinkOptions {
  /** A connection that fails at once while Redis is away. */
  readonly redis: Redis;
  readonly stream: string;
  /** Entries kept; older ones are dropped whether they were read or not. Redis may keep some more. */
  readonly lengthMax: number;
  readonly bodyBytesMax: number;
}

/**
 * A Redis stream. Each entry has `key` (drops duplicates), `result` (the line as JSON) and, when there is a body,
 * `body` (its bytes) or `body_omitted` (why not).
 */
export function createStreamSink({ redis, stream, lengthMax, bodyBytesMax }: StreamSinkOptions): Sink {
  const name = `stream ${stream}`;
  return {
    name,
    async deliver(ended: EndedUrl, page: DeliveredPage): Promise<void> {
      const fields: (string | Buffer)[] = ['key', ended.key, 'result', JSON.stringify(ended)];
      const inline = inlineBody(page.body, bodyBytesMax);
      if (inline?.kind === 'body') fields.push('body', Buffer.from(inline.body));
      if (inline?.kind === 'omitted') fields.push('body_omitted', inline.reason);
      try {
        await redis.xadd(stream, 'MAXLEN', '~', lengthMax, '*', ...fields);
      } catch (error) {
        throw new DeliveryFault(name, error);
      }
    },
    async probe(): Promise<void> {
      // Refused like any other write while Redis is full or read-only, and leaves nothing behind.
      const probe = `${stream}:probe`;
      await redis.set(probe, '1', 'PX', 1_000);
    },
    close: () => Promise.resolve(),
  };
}
