import { redactText } from '@holdoff/service-runtime';

/** Why one field of an entry is refused: enough to find and repair it, and nothing secret. */
export interface FieldFault {
  readonly field: string;
  /** What was given, secrets redacted, at most 120 characters. */
  readonly value: string;
  /** What it would have to be. */
  readonly rule: string;
}

export type Parsed<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'invalid'; readonly fault: FieldFault };

const SHOWN_CHARACTERS_MAX = 120;
/** Control and line-separating characters: they must not reach a terminal or break a log line. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029]/gu;

export function ok<Value>(value: Value): Parsed<Value> {
  return { kind: 'ok', value };
}

export function invalid(
  field: string,
  value: unknown,
  rule: string,
): { readonly kind: 'invalid'; readonly fault: FieldFault } {
  return {
    kind: 'invalid',
    fault: { field: printable(field, 40), value: showValue(value), rule },
  };
}

/** A refused value as it may be shown to people and kept in streams. */
export function showValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return printable(value, SHOWN_CHARACTERS_MAX);
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'undefined':
      return '(absent)';
    default:
      return value === null ? 'null' : `(${Array.isArray(value) ? 'array' : typeof value})`;
  }
}

/** Cuts before it redacts, so that a value of megabytes costs no more than a short one. */
function printable(text: string, charactersMax: number): string {
  const cut = text.slice(0, charactersMax * 4);
  const shown = redactText(cut.toWellFormed()).replaceAll(UNPRINTABLE, '\uFFFD');
  return shown.length > charactersMax || text.length > cut.length
    ? `${shown.slice(0, charactersMax - 1).toWellFormed()}…`
    : shown;
}
