import { createHmac } from 'node:crypto';
import { DeliveryFault, type DeliveredPage, type EndedUrl, type Sink } from '../deliver-result.ts';
import { inlineBody } from './inline-body.ts';

export interface WebhookSinkOptions {
  readonly url: string;
  readonly secret: string;
  readonly bodyBytesMax: number;
  /** For one whole request, ms. */
  readonly timeoutMs: number;
  readonly wallMs: () => number;
  /** Keeps a result that the receiver will never take where its operator finds it. */
  readonly keepRefused: (ended: EndedUrl, status: number) => Promise<unknown>;
}

/**
 * Answers that are about this one result: sent again it would be refused again, while others are taken. Any other answer
 * but 2xx is about the receiver (away, moved, closed to us), and no result gets through until that is mended.
 */
export const REFUSES_RESULT: ReadonlySet<number> = new Set([400, 409, 411, 413, 414, 415, 422, 431]);

/** The receiver answered, but not with 2xx. */
class WebhookRefusal extends Error {
  readonly code: string;
  readonly status: number;

  constructor(status: number) {
    super(`the webhook answered ${status}`);
    this.name = 'WebhookRefusal';
    this.code = `HTTP_${status}`;
    this.status = status;
  }
}

/**
 * A signed POST for each result. Anything but 2xx in time is a delivery fault, but for what the receiver refuses for good:
 * that is kept aside.
 *
 * The address guard does not apply: it protects against what a *page* or a job names, while this address comes
 * from the operator, who may well mean a machine of their own network. Redirects are not followed, so that nobody
 * else can choose where results go.
 */
export function createWebhookSink(options: WebhookSinkOptions): Sink {
  const { url, bodyBytesMax } = options;
  // The path may hold a token; the origin is enough to know which one is meant.
  const name = `webhook ${new URL(url).origin}`;
  return {
    name,
    async deliver(ended: EndedUrl, page: DeliveredPage): Promise<void> {
      const inline = inlineBody(page.body, bodyBytesMax);
      const message = {
        ...ended,
        body: inline?.kind === 'body' ? Buffer.from(inline.body).toString('base64') : null,
        bodyOmitted: inline?.kind === 'omitted' ? inline.reason : null,
      };
      try {
        await post(options, 'result', ended.key, JSON.stringify(message)).catch(async (error: unknown) => {
          if (!(error instanceof WebhookRefusal) || !REFUSES_RESULT.has(error.status)) throw error;
          await options.keepRefused(ended, error.status);
        });
      } catch (error) {
        throw new DeliveryFault(name, innermost(error));
      }
    },
    probe: () => post(options, 'probe', 'probe', '{}'),
    close: () => Promise.resolve(),
  };
}

async function post(
  { url, secret, timeoutMs, wallMs }: WebhookSinkOptions,
  event: 'result' | 'probe',
  key: string,
  body: string,
): Promise<void> {
  const timestamp = String(Math.floor(wallMs() / 1_000));
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'content-type': 'application/json',
      'idempotency-key': key,
      'x-holdoff-event': event,
      'x-holdoff-timestamp': timestamp,
      'x-holdoff-signature': `v1=${signatureOf(secret, timestamp, body)}`,
    },
    body,
  });
  await response.body?.cancel();
  if (!response.ok) throw new WebhookRefusal(response.status);
}

/** Over timestamp and body, so that a recorded message cannot be sent again later under a new time. */
function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}

/** `fetch` says "fetch failed" and hides the code below. */
function innermost(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'TimeoutError') return Object.assign(new Error(error.message), { code: 'ETIMEDOUT' });
  return error.cause instanceof Error && 'code' in error.cause ? error.cause : error;
}
