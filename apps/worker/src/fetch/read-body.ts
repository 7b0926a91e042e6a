import { BoundedDecoder, type DecodeLimits } from '../decode/bounded-decoder.ts';
import type { ContentCoding } from '../decode/content-coding.ts';
import type { AttemptBudget } from './attempt-budget.ts';
import { faultFromError } from './fault-from-error.ts';
import { FaultError, type FetchFault } from './fetch-fault.ts';
import { isCloseDelimited } from './response-headers.ts';
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
    return {
      body,
      state: cut ? 'truncated' : isCloseDelimited(answer) ? 'unknown' : 'complete',
      wireBytes,
      fault: undefined,
    };
  } catch (error) {
    return { body: NOTHING, state: 'truncated', wireBytes, fault: bodyFault(error, budget) };
  } finally {
    stopWaiting();
    decoder.destroy();
    stream.destroy();
  }
}

const NOTHING = new Uint8Array(0);

function bodyFault(error: unknown, budget: AttemptBudget): FetchFault {
  const fault = budget.ended ?? faultFromError(error, 'body');
  return fault.kind === 'transport' ? { kind: 'truncated', code: fault.code } : fault;
}
