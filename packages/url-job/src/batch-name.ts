import { type Parsed, invalid, ok } from './field-fault.ts';

/** Names that people give: batches and header sets. Safe in Redis keys, file names and metrics alike. */
export const NAME_GRAMMAR = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const DEFAULT_BATCH = 'default';

const RULE = 'must be 1 to 64 of A-Z a-z 0-9 . _ - and begin with a letter or digit';

export function parseName(field: 'batch' | 'headers', value: unknown): Parsed<string> {
  return typeof value === 'string' && NAME_GRAMMAR.test(value) ? ok(value) : invalid(field, value, RULE);
}

export function isBatchName(value: string): boolean {
  return NAME_GRAMMAR.test(value);
}
