import type { JobId } from '../../core/identifiers.ts';
import {
  PROXY_CALLS_MOST,
  PROXY_CIRCUIT,
  PROXY_FAILURE_POINTS,
  PROXY_KEPT_MS,
} from '../../core/proxy-circuit.ts';
import type { SettleProxyReply, SettleProxyRequest } from '../../gate/proxy-gate.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('settle-proxy');
const OUTCOMES = { through: 'served', failed: 'throttled', unused: 'neutral' } as const;
const WHY_MOST = 200;

export async function settleProxy(
  context: ScriptContext,
  request: SettleProxyRequest,
): Promise<SettleProxyReply> {
  const { names } = context;
  const part = hostPart(request.proxy);
  const { result } = request;
  const failed = result.kind === 'failed' ? result : null;
  const keys = [
    names.host(part),
    names.leases(part),
    names.lane(part),
    names.called(part),
    names.wheel,
    names.hosts,
    names.reply(request.nonce),
  ];
  const raw = await context.run(script, keys, [
    part,
    request.probe,
    request.generation,
    OUTCOMES[result.kind],
    failed === null ? 0 : PROXY_FAILURE_POINTS[failed.failure],
    Math.ceil(failed?.cooldownUntilMs ?? 0),
    (failed?.why ?? '').slice(0, WHY_MOST),
    context.time(),
    PROXY_CIRCUIT.responsesMax,
    PROXY_CIRCUIT.openMs,
    PROXY_CIRCUIT.growth,
    PROXY_CIRCUIT.openMostMs,
    PROXY_CALLS_MOST,
    PROXY_KEPT_MS,
  ]);
  const reply = new ReplyReader('settle-proxy', raw);
  return { lookAtMs: reply.numberOrNull(), nowMs: reply.number(), call: reply.texts() as JobId[] };
}
