import type { HostKey, JobId } from '../../core/identifiers.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('reopen-host');

export async function reopenHost(
  context: ScriptContext,
  host: HostKey,
  how: 'resume' | 'reset',
): Promise<JobId[]> {
  const { names } = context;
  const part = hostPart(host);
  const keys = [names.host(part), names.leases(part), names.lane(part), names.called(part), names.wheel];
  const raw = await context.run(script, keys, [part, how, context.time()]);
  return new ReplyReader('reopen-host', raw).texts() as JobId[];
}
