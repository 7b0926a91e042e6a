import type { JobId } from '../../core/identifiers.ts';
import { CIRCUIT_STATES, type SettleReply, type SettleRequest, WAIT_CAUSES } from '../../gate/gate.ts';
import { decodeCause } from '../decode-facts.ts';
import { encodeRules } from '../encode-rules.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('settle');

export async function settle(context: ScriptContext, request: SettleRequest): Promise<SettleReply> {
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
    names.deadlines,
    names.reply(request.nonce),
  ];
  const reply = await context.run(script, keys, [
    names.prefix,
    request.job,
    part,
    request.leaseId,
    request.nonce,
    request.delivery,
    request.outcome,
    context.time(),
    ...encodeHostEffect(request),
    ...encodeJobEffect(request),
    request.spent.requests,
    request.spent.bytes,
    request.spent.costMicros,
    request.latencyMs,
    request.evidence.slice(0, EVIDENCE_MOST),
    context.endedKeepMs,
    encodeRules(request.rules),
  ]);
  return decode(new ReplyReader('settle', reply));
}

const EVIDENCE_MOST = 300;

function encodeHostEffect({ hostEffect: effect }: SettleRequest): (string | number)[] {
  const { rateLimit, hold } = effect;
  return [
    Math.ceil(effect.cooldownUntilMs),
    effect.noHint ? 1 : 0,
    hold === null ? '' : hold.reason || 'policy',
    ...(rateLimit === null ? ['', '', ''] : [rateLimit.remaining, rateLimit.windowMs, rateLimit.untilMs]),
  ];
}

function encodeJobEffect({ jobEffect: effect }: SettleRequest): (string | number)[] {
  switch (effect.kind) {
    case 'continue':
      return [effect.kind, Math.ceil(effect.notBeforeMs ?? 0), effect.uncounted === true ? 2 : 0, ''];
    case 'retry_at':
      return [
        effect.kind,
        Math.ceil(effect.notBeforeMs),
        effect.inPlace ? 1 : effect.uncounted === true ? 2 : 0,
        '',
      ];
    case 'defer':
      return [effect.kind, Math.ceil(effect.notBeforeMs), 0, ''];
    case 'stop':
      return [effect.kind, 0, 0, effect.reason];
    case 'done':
    case 'hold':
    case 'release':
      return [effect.kind, 0, 0, ''];
  }
}

function decode(reply: ReplyReader): SettleReply {
  const kind = reply.text();
  if (kind !== 'settled' && kind !== 'late') throw new TypeError(`settle answered ${kind}`);
  const lookAtMs = reply.numberOrNull();
  const nowMs = reply.number();
  const dueMs = reply.numberOrNull();
  const cause = reply.text();
  return {
    kind,
    lookAtMs,
    nowMs,
    job: dueMs === null ? null : { dueMs, cause: decodeCause(cause, WAIT_CAUSES) },
    host: {
      cooldownUntilMs: reply.number(),
      circuit: decodeCause(reply.text(), CIRCUIT_STATES),
      held: reply.flag(),
      intervalMs: reply.number(),
    },
    call: reply.texts() as JobId[],
  };
}
