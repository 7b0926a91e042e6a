import type { JoinRunReply, JoinRunRequest } from '../../gate/join-run.ts';
import { loadScript } from '../load-script.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('join-run');

export async function joinRun(context: ScriptContext, request: JoinRunRequest): Promise<JoinRunReply> {
  const { names } = context;
  const { job, from, to } = request;
  const reply = await context.run(
    script,
    [names.job(job), names.batch(from), names.batch(to), names.trail(job)],
    [from, to, context.time(), context.endedKeepMs],
  );
  if (reply !== 'joined' && reply !== 'already' && reply !== 'no')
    throw new TypeError(`join-run answered ${JSON.stringify(reply)}`);
  return reply;
}
