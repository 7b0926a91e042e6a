import { type BodySigns, readBodySigns } from '@holdoff/throttle-core';
import { BoundedDecoder } from '../decode/bounded-decoder.ts';
import { type ContentCoding, readContentCoding } from '../decode/content-coding.ts';
import type { AttemptBudget } from './attempt-budget.ts';
import { headerLines, isCloseDelimited } from './response-headers.ts';
import type { Answer } from './send-request.ts';

/** More of a body that is no page is never read. */
const GLANCE_BYTES_MAX = 65_536;
const GLANCE_MS_MAX = 500;

/** On these a body can tell a challenge or a rate limit from a plain refusal. */
const TELLING: ReadonlySet<number> = new Set([403, 429, 503]);

export interface Glance {
  /** null: nothing was looked at. */
  readonly signs: BodySigns | null;
  readonly wireBytes: number;
}

/**
 * Gets rid of a body that is no page. A short one is read to its end, so that its socket can be used again, and
 * where it can tell something its beginning is looked at; anything longer or slower costs the socket. Never rejects.
 */
export async function glanceBody(answer: Answer, budget: AttemptBudget): Promise<Glance> {
  const { stream, response } = answer;
  const status = response.statusCode ?? 0;
  const announced = Number(response.headers['content-length'] ?? 0);
  const hopeless = announced > GLANCE_BYTES_MAX || isCloseDelimited(answer);
  // A limit that names its wait is a limit whatever the page shows: a large body is not worth looking at.
  const told = status === 429 && hopeless && response.headers['retry-after'] !== undefined;
  const coding = TELLING.has(status) && !told ? readableCoding(answer) : undefined;
  const decoder = coding === undefined ? undefined : new BoundedDecoder(coding, SIGNS_LIMITS);
  const stop = (): void => {
    decoder?.abort({ kind: 'truncated', code: 'GLANCE_OVER' });
    stream.destroy();
  };
  const timer = setTimeout(stop, GLANCE_MS_MAX);
  const stopWaiting = budget.onEnd(stop);
  let wireBytes = 0;
  try {
    if (hopeless && decoder === undefined) return { signs: null, wireBytes };
    for await (const piece of stream as AsyncIterable<Buffer>) {
      wireBytes += piece.length;
      await decoder?.write(piece);
      if (wireBytes > GLANCE_BYTES_MAX || (hopeless && decoder?.cut === true)) break;
    }
    return { signs: await signsIn(decoder), wireBytes };
  } catch {
    // The answer's head says all that is needed; how its body ended does not matter.
    return { signs: null, wireBytes };
  } finally {
    clearTimeout(timer);
    stopWaiting();
    decoder?.destroy();
    stream.destroy();
  }
}

/** The marks of such pages stand in their beginning. */
const SIGNS_LIMITS = { decodedBytesMax: 32_768, ratioMax: Infinity, overflow: 'cut' } as const;

async function signsIn(decoder: BoundedDecoder | undefined): Promise<BodySigns | null> {
  if (decoder === undefined) return null;
  return readBodySigns((await decoder.end()).toString('utf8'));
}

function readableCoding({ response }: Answer): ContentCoding | undefined {
  const coding = readContentCoding(headerLines(response.rawHeaders)['content-encoding'] ?? []);
  return typeof coding === 'string' ? coding : undefined;
}
