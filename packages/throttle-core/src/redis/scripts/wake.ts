import type { JobId } from '../../core/identifiers.ts';
import type { WakeReply, WakeRequest } from '../../gate/gate.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('wake');

export async function wake(context: ScriptContext, request: WakeRequest): Promise<WakeReply> {
  const { names } = context;
  const raw = await context.run(
    script,
    [names.wheel, names.deadlines],
    [names.prefix, request.hostsMax, request.jobsMax, context.time()],
  );
  const reply = new ReplyReader('wake', raw);
  const nextAtMs = reply.numberOrNull();
  const nowMs = reply.number();
  const calls = reply.number();
  return { nextAtMs, nowMs, call: reply.texts(calls) as JobId[], expired: reply.texts() as JobId[] };
}
