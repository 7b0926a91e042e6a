import type { EnterReply, EnterRequest, EnteringJob } from '../../gate/gate.ts';
import { WAIT_CAUSES } from '../../gate/gate.ts';
import { encodeBatchDefaults } from '../batch-defaults.ts';
import { decodeCause, decodeEnd, decodeStopReason } from '../decode-facts.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('enter');
/** Jobs of one script call: a larger one would hold up everybody's decisions for milliseconds. */
const JOBS_PER_CALL = 200;

export async function enter(context: ScriptContext, request: EnterRequest): Promise<readonly EnterReply[]> {
  const replies: EnterReply[] = [];
  for (let from = 0; from < request.jobs.length; from += JOBS_PER_CALL) {
    replies.push(...(await enterSome(context, request, request.jobs.slice(from, from + JOBS_PER_CALL))));
  }
  return replies;
}

async function enterSome(
  context: ScriptContext,
  request: EnterRequest,
  jobs: readonly EnteringJob[],
): Promise<EnterReply[]> {
  const { names } = context;
  const raw = await context.run(
    script,
    [names.batch(request.batch), names.batches, names.sequence, names.deadlines, names.wheel, names.hosts],
    [
      names.prefix,
      request.batch,
      context.time(),
      ...encodeBatchDefaults(request.batchDefaults),
      ...jobs.flatMap((job) => [
        job.job,
        hostPart(job.host),
        job.rules.concurrency,
        job.priority,
        Math.ceil(job.notBeforeMs),
        Math.floor(job.deadlineMs),
      ]),
    ],
  );
  const reply = new ReplyReader('enter', raw);
  reply.number();
  return jobs.map((job) => decode(job, reply));
}

function decode({ job }: EnteringJob, reply: ReplyReader): EnterReply {
  const kind = reply.text();
  const detail = reply.text();
  const fallbackMs = reply.number();
  switch (kind) {
    case 'go':
      return { kind, job };
    case 'wait':
      return { kind, job, cause: decodeCause(detail, WAIT_CAUSES), fallbackMs };
    case 'duplicate':
      return { kind, job, ended: decodeEnd(detail), fallbackMs };
    case 'refused':
      return { kind, job, reason: decodeStopReason(detail) };
    default:
      throw new TypeError(`enter answered ${kind}`);
  }
}
