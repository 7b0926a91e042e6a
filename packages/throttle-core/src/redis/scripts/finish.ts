import type { JobId } from '../../core/identifiers.ts';
import type { FinishReply, FinishRequest } from '../../gate/gate.ts';
import { decodeEnd, encodeEnd } from '../decode-facts.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('finish');
const EVIDENCE_MOST = 300;

export async function finish(context: ScriptContext, request: FinishRequest): Promise<FinishReply> {
  const { names } = context;
  const raw = await context.run(
    script,
    [
      names.job(request.job),
      names.batch(request.batch),
      names.trail(request.job),
      names.deadlines,
      names.wheel,
      names.batches,
    ],
    [
      names.prefix,
      request.job,
      request.batch,
      request.delivery,
      encodeEnd(request.end),
      request.evidence.slice(0, EVIDENCE_MOST),
      context.time(),
      context.endedKeepMs,
    ],
  );
  const reply = new ReplyReader('finish', raw);
  const kind = reply.text();
  if (kind !== 'finished' && kind !== 'already' && kind !== 'stale')
    throw new TypeError(`finish answered ${kind}`);
  return { kind, end: decodeEnd(reply.text()), call: reply.texts() as JobId[] };
}
