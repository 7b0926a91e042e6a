import type { Exchange } from '../exchange.ts';

/** One header line at a time, straight to the socket: the head takes `lines` x `everyMs` to arrive. */
export function sendSlowHeaders(
  exchange: Exchange,
  drip: { readonly everyMs: number; readonly lines: number },
): void {
  const { socket } = exchange.request;
  let line = 0;
  exchange.sent(200);
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n');
  exchange.every(drip.everyMs, () => {
    if (socket.destroyed) return false;
    line += 1;
    if (line <= drip.lines) {
      socket.write(`X-Drip-${line}: slow\r\n`);
      return true;
    }
    socket.end('Content-Length: 3\r\nConnection: close\r\n\r\nok\n');
    return false;
  });
}

/** Interim answers (RFC 9110 §15.2) in front of the real one; without a pause they come in batches. */
export function sendInformational(
  exchange: Exchange,
  flood: { readonly everyMs: number; readonly count: number },
): void {
  const { response } = exchange;
  const batch = flood.everyMs === 0 ? 100 : 1;
  let sent = 0;
  exchange.every(Math.max(1, flood.everyMs), () => {
    if (response.destroyed) return false;
    for (let n = 0; n < batch && sent < flood.count; n += 1) {
      response.writeProcessing();
      sent += 1;
    }
    if (sent < flood.count) return true;
    exchange.whole(200, [['Content-Type', 'text/plain']], Buffer.from('ok\n'));
    return false;
  });
}
