import type { Exchange } from '../exchange.ts';

const PLAIN = ['Content-Type', 'text/plain'] as const;
const BLOCK = Buffer.alloc(64 * 1024, 'holdoff\n');

export function sendSlowBody(
  exchange: Exchange,
  drip: { readonly everyMs: number; readonly chunkBytes: number; readonly totalBytes: number },
): void {
  const { response } = exchange;
  let left = drip.totalBytes;
  exchange.head(200, [PLAIN, ['Content-Length', String(left)]]);
  if (exchange.request.method === 'HEAD') {
    response.end();
    return;
  }
  response.flushHeaders();
  exchange.every(drip.everyMs, () => {
    if (response.destroyed) return false;
    const chunk = Buffer.alloc(Math.min(drip.chunkBytes, left), 's');
    left -= chunk.length;
    if (left > 0) return response.write(chunk) || true;
    response.end(chunk);
    return false;
  });
}

/** Chunked, as fast as the client reads, and never closed properly: after `bytesMost` the connection breaks. */
export function sendEndlessBody(exchange: Exchange, bytesMost: number): void {
  exchange.head(200, [PLAIN]);
  pour(exchange, bytesMost, () => exchange.request.socket.destroy());
}

export function sendHugeBody(exchange: Exchange, bytes: number): void {
  exchange.head(200, [PLAIN, ['Content-Length', String(bytes)]]);
  pour(exchange, bytes, () => exchange.response.end());
}

/** Stops half-way and closes the connection in an orderly manner, as a crashed back end behind a proxy does. */
export function sendTruncatedBody(
  exchange: Exchange,
  cut: { readonly bytes: number; readonly framing: 'length' | 'chunked' },
): void {
  exchange.head(200, cut.framing === 'length' ? [PLAIN, ['Content-Length', String(cut.bytes + 1)]] : [PLAIN]);
  exchange.response.write(Buffer.alloc(Math.max(1, Math.floor(cut.bytes / 2)), 't'), () => {
    exchange.request.socket.destroySoon();
  });
}

/** Writes `bytes` in blocks and waits whenever the socket is full, so memory stays flat. */
function pour(exchange: Exchange, bytes: number, then: () => void): void {
  const { response } = exchange;
  if (exchange.request.method === 'HEAD') {
    response.end();
    return;
  }
  let left = bytes;
  const more = (): void => {
    while (left > 0 && !response.destroyed) {
      const block = left >= BLOCK.length ? BLOCK : BLOCK.subarray(0, left);
      left -= block.length;
      if (!response.write(block)) {
        response.once('drain', more);
        return;
      }
    }
    if (!response.destroyed) then();
  };
  more();
}
