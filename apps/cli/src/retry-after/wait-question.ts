import { parseHttpDate, parseSloppyDate, type UnitQuirk } from '@holdoff/throttle-core';
import { z } from 'zod';

/** One header of one response, ready to be read. */
export interface WaitQuestion {
  readonly header: string;
  /** The header's lines; none: it is absent. */
  readonly lines: readonly string[];
  readonly receivedAtMs: number;
  readonly dateLines: readonly string[];
  /** What a bare number counts in; null: what the specification says. */
  readonly unit: UnitQuirk | null;
}

/** Why a question cannot be answered: which field, what was there, what it should have been. */
export interface QuestionFault {
  readonly field: string;
  readonly value: unknown;
  readonly rule: string;
}

export type QuestionReading =
  | { readonly kind: 'question'; readonly question: WaitQuestion }
  | { readonly kind: 'fault'; readonly fault: QuestionFault };

export const HEADER_RULE = 'a header name';
export const INSTANT_RULE =
  'an instant: 2026-06-15T12:00:00Z, an HTTP-date, or whole milliseconds since 1970';
const UNIT_RULE = 'seconds, milliseconds or epoch_seconds';
const VALUE_RULE = 'a string, null (the header is absent) or an array of strings (its lines)';
const DATE_RULE = 'a string, null or an array of strings: the lines of the Date header';

export const UNITS = ['seconds', 'milliseconds', 'epoch_seconds'] as const satisfies readonly UnitQuirk[];

const header = z.string(HEADER_RULE).regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u, HEADER_RULE);
const instant = z.union([z.string(), z.number()], INSTANT_RULE).transform((value, context) => {
  const instantMs = parseInstant(value);
  if (instantMs !== undefined) return instantMs;
  context.addIssue({ code: 'custom', message: INSTANT_RULE });
  return z.NEVER;
});

const questionSchema = z.object({
  header: header.default('Retry-After'),
  value: z.union([z.string(), z.null(), z.array(z.string())], VALUE_RULE),
  receivedAt: instant.optional(),
  date: z.union([z.string(), z.null(), z.array(z.string())], DATE_RULE).optional(),
  unit: z.enum(UNITS, UNIT_RULE).nullable().optional(),
});

/** Reads one JSON line. Keys that are not named are left alone, so that a test vector can be asked as it is. */
export function parseQuestion(text: string, nowMs: number): QuestionReading {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return refusal('line', text, 'one JSON object on one line');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return refusal('line', text, 'one JSON object on one line');
  }
  const parsed = questionSchema.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = String(issue?.path[0] ?? 'line');
    // The line, not the value, bounds the echo: nested values can be too deep to be printed again.
    const value = text.length <= ECHO_LINE_MAX ? (json as Readonly<Record<string, unknown>>)[field] : text;
    return refusal(field, value, issue?.message ?? '');
  }
  const { receivedAt = nowMs, value, date = null, unit = null } = parsed.data;
  return {
    kind: 'question',
    question: {
      header: parsed.data.header,
      lines: linesOf(value),
      receivedAtMs: receivedAt,
      dateLines: linesOf(date),
      unit,
    },
  };
}

/** Reads an instant that a person or a program wrote. undefined: it is none, or not to the second. */
export function parseInstant(value: string | number): number | undefined {
  if (typeof value === 'number') return isInstantMs(value) ? value : undefined;
  if (/^[0-9]{1,16}$/u.test(value)) return parseInstant(Number(value));
  const httpDate = parseHttpDate(value, 0);
  if (httpDate.kind === 'date') return httpDate.epochMs;
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}/iu.test(value)) return undefined;
  const date = parseSloppyDate(value, 0);
  return date.kind === 'date' ? date.epochMs : undefined;
}

/** The range of a JavaScript date: beyond it an instant cannot even be shown. */
function isInstantMs(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= 8.64e15;
}

function linesOf(value: string | readonly string[] | null): readonly string[] {
  if (value === null) return [];
  return typeof value === 'string' ? [value] : value;
}

function refusal(field: string, value: unknown, rule: string): QuestionReading {
  return { kind: 'fault', fault: { field, value: shortened(value), rule } };
}

const ECHO_CHARACTERS_MAX = 120;
const ECHO_LINE_MAX = 2000;

/** What is echoed stays short, however long the line was. */
function shortened(value: unknown): unknown {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  if (text.length <= ECHO_CHARACTERS_MAX) return value ?? null;
  return `${text.slice(0, ECHO_CHARACTERS_MAX)}…`;
}
