import type { HostKey } from '../../core/identifiers.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('hold-host');

export async function holdHost(
  context: ScriptContext,
  host: HostKey,
  reason: string,
  by: string,
): Promise<void> {
  const { names } = context;
  const part = hostPart(host);
  await context.run(script, [names.host(part), names.wheel, names.hosts], [part, reason, by, context.time()]);
}
