import { NEW_PACE, type PaceState } from '../core/pace.ts';

/** A host's learned pace from its hash, as fragments/pace.lua writes it. */
export function decodePace(fields: ReadonlyMap<string, string>): PaceState {
  const numbers = Object.entries(NEW_PACE).map(([name, unset]) => {
    const written = fields.get(`pace:${name}`);
    return [name, written === undefined || name === 'phase' ? unset : Number(written)];
  });
  const phase = fields.get('pace:phase') === 'steady' ? 'steady' : 'slow_start';
  return { ...(Object.fromEntries(numbers) as PaceState), phase };
}
