import type { BatchId } from '../../core/identifiers.ts';
import type { BatchSnapshot } from '../../gate/gate.ts';
import { decodeBatch } from '../decode-batch.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('inspect-batch');

export async function inspectBatch(
  context: ScriptContext,
  batch: BatchId,
): Promise<BatchSnapshot | undefined> {
  const raw = await context.run(script, [context.names.batch(batch)], []);
  const reply = new ReplyReader('inspect-batch', raw);
  return reply.empty ? undefined : decodeBatch(batch, reply.pairs());
}
