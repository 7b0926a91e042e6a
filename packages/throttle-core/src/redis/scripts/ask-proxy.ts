import type { JobId } from '../../core/identifiers.ts';
import { WAIT_CAUSES } from '../../gate/gate.ts';
import type { AskProxyReply, AskProxyRequest } from '../../gate/proxy-gate.ts';
import { decodeCause, decodeEnd } from '../decode-facts.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('ask-proxy');

export async function askProxy(context: ScriptContext, request: AskProxyRequest): Promise<AskProxyReply> {
  const { names } = context;
  const part = hostPart(request.proxy);
  const keys = [
    names.job(request.job),
    names.host(part),
    names.leases(part),
    names.lane(part),
    names.called(part),
    names.wheel,
    names.trail(request.job),
  ];
  const raw = await context.run(script, keys, [
    names.prefix,
    request.job,
    part,
    request.nonce,
    request.delivery,
    request.probeMs,
    request.neededMs,
    context.time(),
  ]);
  return decode(new ReplyReader('ask-proxy', raw));
}

function decode(reply: ReplyReader): AskProxyReply {
  const kind = reply.text();
  switch (kind) {
    case 'go':
      return {
        kind,
        probe: reply.text(),
        generation: reply.number(),
        points: reply.number(),
        nowMs: reply.number(),
        call: reply.texts() as JobId[],
      };
    case 'wait':
      return {
        kind,
        cause: decodeCause(reply.text(), WAIT_CAUSES),
        untilMs: reply.number(),
        place: reply.numberOrNull(),
        fallbackMs: reply.number(),
        nowMs: reply.number(),
      };
    case 'stop':
      return { kind, reason: 'deadline', nowMs: reply.number() };
    case 'stale':
      return { kind, ended: decodeEnd(reply.text()) };
    default:
      throw new TypeError(`ask-proxy answered ${kind}`);
  }
}
