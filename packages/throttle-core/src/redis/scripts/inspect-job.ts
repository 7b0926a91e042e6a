import type { BatchId, JobId } from '../../core/identifiers.ts';
import type { JobFacts } from '../../core/plan-retry.ts';
import { type JobSnapshot, type TrailEntry, WAIT_CAUSES } from '../../gate/gate.ts';
import { decodeTokens } from '../decode-batch.ts';
import { decodeCause, decodeEnd } from '../decode-facts.ts';
import { hostOfPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('inspect-job');
const MICRO = 1_000_000;

export async function inspectJob(context: ScriptContext, job: JobId): Promise<JobSnapshot | undefined> {
  const { names } = context;
  const raw = await context.run(script, [names.job(job), names.trail(job)], [names.prefix, job]);
  const reply = new ReplyReader('inspect-job', raw);
  return reply.empty ? undefined : decode(job, reply);
}

function decode(job: JobId, reply: ReplyReader): JobSnapshot {
  const fields = reply.list().pairs();
  const lines = reply.list().texts();
  const place = reply.numberOrNull();
  const text = (name: string): string => fields.get(name) ?? '';
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const cause = text('w');
  return {
    job,
    host: hostOfPart(text('h')),
    batch: text('b') as BatchId,
    facts: decodeJobFacts(fields, reply),
    ended: decodeEnd(text('e')),
    endedAtMs: number('ea'),
    waiting:
      cause === '' || text('e') !== ''
        ? null
        : {
            cause: decodeCause(cause, WAIT_CAUSES),
            untilMs: number('wu'),
            place,
            scope: text('wl') === '' || text('wl') === text('h') ? null : hostOfPart(text('wl')),
          },
    awaitsRun: number('aw') === 1,
    priority: number('p'),
    requests: number('rq'),
    bytes: number('by'),
    trail: decodeTrail(fields, lines),
  };
}

function decodeJobFacts(fields: ReadonlyMap<string, string>, reply: ReplyReader): JobFacts {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const host = reply.list().pairs();
  const circuit = host.get('circuit') ?? 'closed';
  const hostTokens = host.get('tokens');
  const tokens = decodeTokens(reply.list().pairs());
  return {
    attempts: number('a'),
    run: Number(fields.get('r') ?? 1),
    throttledInRun: number('x'),
    deferrals: number('f'),
    startedAtMs: number('t'),
    deadlineMs: number('d'),
    notBeforeMs: number('n'),
    noHintEvents: Number(host.get('noHint') ?? 0),
    cooldownUntilMs: Number(host.get('cooldown') ?? 0),
    openUntilMs: circuit === 'closed' ? 0 : Number(host.get('openUntil') ?? 0),
    batchTokensLeft: tokens === null ? null : Math.max(0, tokens.total - tokens.spent),
    hostTokensLeft: hostTokens === undefined ? null : Math.floor(Number(hostTokens) / MICRO),
  };
}

/** The stored lines, and what the ledger knows without one: entered, last admission, end. Newest first. */
function decodeTrail(fields: ReadonlyMap<string, string>, lines: readonly string[]): TrailEntry[] {
  const entries = lines.map((line): TrailEntry => {
    const [at = '', event = '', ...detail] = line.split('|');
    return { atMs: Number(at), event, detail: detail.join('|') };
  });
  const end = fields.get('e') ?? '';
  if (end !== '' && entries[0]?.event !== 'ended') {
    entries.unshift({ atMs: Number(fields.get('ea')), event: 'ended', detail: fields.get('ev') ?? '' });
  }
  if ((fields.get('l') ?? '') !== '') {
    entries.unshift({
      atMs: Number(fields.get('ad')),
      event: 'admitted',
      detail: `attempt ${fields.get('a') ?? 0}`,
    });
  }
  entries.push({ atMs: Number(fields.get('t')), event: 'entered', detail: `batch ${fields.get('b')}` });
  return entries;
}
