import type { AnswerDescription } from '../description.ts';
import type { Exchange, HeaderLines } from '../exchange.ts';
import { sendBomb } from './bomb.ts';
import { sendEndlessBody, sendHugeBody, sendSlowBody, sendTruncatedBody } from './bodies.ts';
import { sendInformational, sendSlowHeaders } from './heads.ts';
import { pageOf, sendPage } from './page.ts';
import { type Surroundings, sendRedirect } from './redirect.ts';

const CHALLENGE = Buffer.from(
  '<!doctype html><title>Just a moment...</title><p>Verify that you are human by completing the action below.</p>',
);

/** Sends what a rule asks for. Each kind ends the exchange, or leaves it open for the client to end. */
export function writeAnswer(exchange: Exchange, answer: AnswerDescription, around: Surroundings): void {
  switch (answer.kind) {
    case 'page':
      return sendPage(exchange, pageOf(answer, exchange.host.description.name), []);
    case 'status':
      return sendStatus(exchange, answer.status, answer.retryAfterSeconds, Object.entries(answer.headers));
    case 'challenge':
      return exchange.whole(
        403,
        [
          ['Content-Type', 'text/html; charset=utf-8'],
          ['cf-mitigated', 'challenge'],
        ],
        CHALLENGE,
      );
    case 'reset':
      exchange.request.socket.resetAndDestroy();
      return undefined;
    case 'never':
      return undefined;
    case 'slow_headers':
      return sendSlowHeaders(exchange, answer);
    case 'informational':
      return sendInformational(exchange, answer);
    case 'slow_body':
      return sendSlowBody(exchange, answer);
    case 'endless_body':
      return sendEndlessBody(exchange, answer.bytesMost);
    case 'truncated_body':
      return sendTruncatedBody(exchange, answer);
    case 'huge_body':
      return sendHugeBody(exchange, answer.bytes);
    case 'huge_headers':
      return exchange.whole(200, [['X-Filler', 'x'.repeat(answer.bytes)]], Buffer.from('ok\n'));
    case 'bomb':
      return sendBomb(exchange, answer);
    case 'redirect':
      return sendRedirect(exchange, answer, around);
  }
}

function sendStatus(
  exchange: Exchange,
  status: number,
  retryAfterSeconds: number | undefined,
  headers: HeaderLines,
): void {
  const body = Buffer.from(`${status}\n`);
  const typed: HeaderLines = [['Content-Type', 'text/plain'], ...headers];
  if (retryAfterSeconds === undefined) return exchange.whole(status, typed, body);
  const hinted: HeaderLines = [...typed, ['Retry-After', String(retryAfterSeconds)]];
  return exchange.whole(status, hinted, body, retryAfterSeconds * 1000);
}
