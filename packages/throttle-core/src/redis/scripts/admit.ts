import type { LeaseId } from '../../core/identifiers.ts';
import { type AdmitReply, type AdmitRequest, WAIT_CAUSES } from '../../gate/gate.ts';
import { decodeCause, decodeEnd, decodeFacts, decodeStopReason } from '../decode-facts.ts';
import { encodeRules } from '../encode-rules.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('admit');

export async function admit(context: ScriptContext, request: AdmitRequest): Promise<AdmitReply> {
  const { names } = context;
  const part = hostPart(request.host);
  const keys = [
    names.job(request.job),
    names.batch(request.batch),
    names.host(part),
    names.leases(part),
    names.lane(part),
    names.called(part),
    names.wheel,
    names.trail(request.job),
    names.hosts,
    names.batches,
  ];
  const reply = await context.run(script, keys, [
    names.prefix,
    request.job,
    part,
    request.batch,
    request.nonce,
    request.delivery,
    request.purpose,
    request.attemptsMax,
    context.time(),
    encodeRules(request.rules),
  ]);
  return decode(new ReplyReader('admit', reply));
}

function decode(reply: ReplyReader): AdmitReply {
  const kind = reply.text();
  switch (kind) {
    case 'admitted':
      return {
        kind,
        leaseId: reply.text() as LeaseId,
        attempt: reply.number(),
        probe: reply.flag(),
        generation: reply.number(),
        epoch: reply.number(),
        tokensLeft: reply.numberOrNull(),
        leaseMs: reply.number(),
        admittedAtMs: reply.number(),
        facts: decodeFacts(reply),
      };
    case 'wait':
      return {
        kind,
        cause: decodeCause(reply.text(), WAIT_CAUSES),
        untilMs: reply.number(),
        inline: reply.flag(),
        place: reply.numberOrNull(),
        fallbackMs: reply.number(),
        nowMs: reply.number(),
        facts: decodeFacts(reply),
      };
    case 'stop':
      return {
        kind,
        reason: decodeStopReason(reply.text()),
        nowMs: reply.number(),
        facts: decodeFacts(reply),
      };
    case 'stale':
      return { kind, ended: decodeEnd(reply.text()) };
    default:
      throw new TypeError(`admit answered ${kind}`);
  }
}
