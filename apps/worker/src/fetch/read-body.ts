import { BoundedDecoder, type DecodeLimits } from '../decode/bounded-decoder.ts';
import type { ContentCoding } from '../decode/content-coding.ts';
import type { AttemptBudget } from './attempt-budget.ts';
import { faultFromError } from './fault-from-error.ts';
import { FaultError, type FetchFault } from './fetch-fault.ts';
import type { Answer } from './send-request.ts';

export interface BodyLimits extends DecodeLimits {
  readonly wireBytesMax: number;
}

export interface ReadBody {
  readonly body: Uint8Array;
  /** unknown: the end was the end of the connection, which a cut looks exactly like. */
  readonly state: 'complete' | 'unknown' | 'truncated';
  readonly wireBytes: number;
  readonly fault: FetchFault | undefined;
}

/** Reads and decodes one body within its limits and the budget. Never rejects; the stream is finished or destroyed. */
export async function readBody(
  answer: Answer,
  coding: ContentCoding,
  limits: BodyLimits,
  budget: AttemptBudget,
): Promise<ReadBody> {
  const { stream } = answer;
  const decoder = new BoundedDecoder(coding, limits);
  const stopWaiting = budget.onEnd((error) => {
    decoder.abort(error.fault);
    stream.destroy(error);
  });
  let wireBytes = 0;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      wireBytes += piece.length;
      if (wireBytes > limits.wireBytesMax && limits.overflow === 'refuse') {
        throw new FaultError({ kind: 'too_large', limit: 'wire' });
      }
      await decoder.write(piece);
      if (decoder.cut || wireBytes > limits.wireBytesMax) break;
    }
    const body = await decoder.end();
    const cut = decoder.cut || wireBytes > limits.wireBytesMax;
    return { body, state: cut ? 'truncated' : framing(answer), wireBytes, fault: undefined };
  } catch (error) {
    return { body: NOTHING, state: 'truncated', wireBytes, fault: bodyFault(error, budget) };
  } finally {
    stopWaiting();
    decoder.destroy();
    stream.destroy();
  }
}

/** Small bodies of answers nobody reads are read away, so that the socket can be used again. */
const DRAIN_BYTES_MAX = 65_536;
const DRAIN_MS_MAX = 250;

/** Gets rid of a body that nobody wants: read to its end if that is near, otherwise the socket is closed. */
export async function discardBody(answer: Answer, budget: AttemptBudget): Promise<number> {
  const { stream, response } = answer;
  const announced = Number(response.headers['content-length'] ?? 0);
  const timer = setTimeout(() => stream.destroy(), DRAIN_MS_MAX);
  const stopWaiting = budget.onEnd((error) => stream.destroy(error));
  let wireBytes = 0;
  try {
    if (announced > DRAIN_BYTES_MAX || isCloseDelimited(answer)) return 0;
    for await (const piece of stream as AsyncIterable<Buffer>) {
      wireBytes += piece.length;
      if (wireBytes > DRAIN_BYTES_MAX) break;
    }
  } catch {
    // The answer's head says all that is needed; how its body ended does not matter.
  } finally {
    clearTimeout(timer);
    stopWaiting();
    stream.destroy();
  }
  return wireBytes;
}

const NOTHING = new Uint8Array(0);

function bodyFault(error: unknown, budget: AttemptBudget): FetchFault {
  const fault = budget.ended ?? faultFromError(error, 'body');
  return fault.kind === 'transport' ? { kind: 'truncated', code: fault.code } : fault;
}

/** RFC 9112 §6.3: without a length or chunks, the body ends where the connection does. */
function isCloseDelimited({ response }: Answer): boolean {
  return (
    response.headers['content-length'] === undefined && response.headers['transfer-encoding'] === undefined
  );
}

function framing(answer: Answer): 'complete' | 'unknown' {
  return isCloseDelimited(answer) ? 'unknown' : 'complete';
}
