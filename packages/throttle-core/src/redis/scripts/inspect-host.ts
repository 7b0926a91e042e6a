import { whyPaceHolds } from '../../core/explain-pace.ts';
import type { HostKey, LeaseId } from '../../core/identifiers.ts';
import { CIRCUIT_STATES, type HostSnapshot } from '../../gate/gate.ts';
import { decodeCause } from '../decode-facts.ts';
import { decodePace } from '../decode-pace.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';
import { decodeOverride } from './pace-override.ts';

const script = loadScript('inspect-host');
const MICRO = 1_000_000;

export async function inspectHost(context: ScriptContext, host: HostKey): Promise<HostSnapshot | undefined> {
  const { names } = context;
  const part = hostPart(host);
  const keys = [names.host(part), names.leases(part), names.lane(part), names.called(part), names.wheel];
  const reply = new ReplyReader('inspect-host', await context.run(script, keys, [part, context.time()]));
  return reply.empty ? undefined : decode(host, reply);
}

function decode(host: HostKey, reply: ReplyReader): HostSnapshot {
  const nowMs = reply.number();
  const waiting = reply.number();
  const called = reply.number();
  const lookAtMs = reply.numberOrNull();
  const fields = reply.list().pairs();
  const leases = [...reply.list().pairs()];
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const hold = fields.get('hold');
  const probe = fields.get('probe') ?? '';
  const tokens = fields.get('tokens');
  const pace = decodePace(fields);
  const override = decodeOverride(fields.get('override') ?? '');
  return {
    host,
    nowMs,
    cooldownUntilMs: number('cooldown'),
    hold:
      hold === undefined ? null : { reason: hold, by: fields.get('holdBy') ?? '', sinceMs: number('holdAt') },
    circuit: {
      state: decodeCause(fields.get('circuit') ?? 'closed', CIRCUIT_STATES),
      generation: number('generation'),
      openUntilMs: number('openUntil'),
      opens: number('opens'),
      consecutiveResponses: number('responses'),
      consecutiveEvents: number('events'),
      probe: probe === '' ? null : { leaseId: probe as LeaseId, untilMs: number('probeUntil') },
    },
    epoch: number('epoch'),
    noHintEvents: number('noHint'),
    pace: {
      effectiveIntervalMs: number('interval'),
      learnedIntervalMs: pace.intervalMs,
      phase: pace.phase,
      lastCeilingIntervalMs: pace.ceilingMs,
      lastEventAtMs: pace.eventAtMs,
      nextAtMs: pace.nextAtMs,
      override,
      heldBack: whyPaceHolds(pace, override, number('interval'), nowMs),
    },
    tokensLeft: tokens === undefined ? null : Math.floor(Number(tokens) / MICRO),
    why: fields.get('why') ?? null,
    whyAtMs: number('whyAt'),
    leases: leases.map(([member, untilMs]) => ({ leaseId: member as LeaseId, untilMs: Number(untilMs) })),
    waiting,
    called,
    lookAtMs,
  };
}
