import type { HostKey } from '../../core/identifiers.ts';
import type { PaceOverride } from '../../gate/gate.ts';
import { hostPart } from '../key-names.ts';
import { loadScript } from '../load-script.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('pace-override');

/** `fixed:100`, `bounds:50:2000` (either bound may be absent), `off`, '' (none). */
function encodeOverride(override: PaceOverride): string {
  switch (override.kind) {
    case 'none':
      return '';
    case 'fixed':
      return `fixed:${override.intervalMs}`;
    case 'bounds':
      return `bounds:${override.floorIntervalMs ?? ''}:${override.ceilingIntervalMs ?? ''}`;
    case 'off':
    case 'reset':
      return override.kind;
  }
}

function number(part: string): number | null {
  return part === '' ? null : Number(part);
}

export function decodeOverride(text: string): PaceOverride {
  const [kind, first = '', second = ''] = text.split(':');
  switch (kind) {
    case 'fixed':
      return { kind, intervalMs: Number(first) };
    case 'bounds':
      return { kind, floorIntervalMs: number(first), ceilingIntervalMs: number(second) };
    case 'off':
      return { kind };
    default:
      return { kind: 'none' };
  }
}

export async function paceOverride(
  context: ScriptContext,
  host: HostKey,
  override: PaceOverride,
): Promise<void> {
  const { names } = context;
  const part = hostPart(host);
  await context.run(
    script,
    [names.host(part), names.hosts],
    [part, encodeOverride(override), context.time()],
  );
}
