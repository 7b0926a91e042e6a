import type { BatchId } from '../../core/identifiers.ts';
import { loadScript } from '../load-script.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('change-batch');

export type BatchChange =
  | { readonly kind: 'approve' | 'cancel'; readonly by: string }
  | { readonly kind: 'top_up'; readonly tokens: number; readonly nonce: string };

/** False: there is no such batch. */
export async function changeBatch(
  context: ScriptContext,
  batch: BatchId,
  change: BatchChange,
): Promise<boolean> {
  const { names } = context;
  const topUp = change.kind === 'top_up';
  if (topUp && !(Number.isSafeInteger(change.tokens) && change.tokens >= 0)) {
    throw new RangeError(`a top-up is a whole number of tokens, at least 0, not ${change.tokens}`);
  }
  const changed = await context.run(
    script,
    [names.batch(batch), names.reply(topUp ? `${batch}:${change.nonce}` : batch)],
    [change.kind, topUp ? '' : change.by, topUp ? change.tokens : 0],
  );
  return changed === 1;
}
