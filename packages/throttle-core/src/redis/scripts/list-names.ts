import { loadScript } from '../load-script.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { ScriptContext } from '../script-context.ts';

const script = loadScript('list-names');

export interface NamePage {
  readonly names: readonly string[];
  /** Where the next page begins; null: this was the last. */
  readonly cursor: string | null;
}

export async function listNames(
  context: ScriptContext,
  index: 'host' | 'batch',
  cursor: string,
  limit: number,
): Promise<NamePage> {
  const { names } = context;
  const key = index === 'host' ? names.hosts : names.batches;
  const raw = await context.run(script, [key], [`${names.prefix}:${index}:`, cursor, limit]);
  const reply = new ReplyReader('list-names', raw);
  const next = reply.text();
  return { names: reply.texts(), cursor: next === '' ? null : next };
}
