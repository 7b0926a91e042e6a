import {
  DURATION_PATTERN,
  printDuration,
  printRate,
  printSize,
  RATE_PATTERN,
  readDurationMs,
  readRatePerSecond,
  readSizeBytes,
  SIZE_PATTERN,
} from './value-words.ts';

/** One value that a policy file can set: how it is read, written and described. */
export interface Field<T> {
  /** What it means, one sentence for operators. */
  readonly doc: string;
  /** What may be written, for messages and docs: "a duration from 1s to 1h, or none". */
  readonly form: string;
  /** JSON Schema of what may be written. */
  readonly json: Readonly<Record<string, unknown>>;
  /** undefined: breaks the rule that `form` states. */
  read(raw: unknown): T | undefined;
  print(value: T): string;
}

interface Bounds {
  readonly min: string;
  readonly max: string;
}

export function duration(doc: string, bounds: Bounds): Field<number> {
  return measured(doc, bounds, {
    name: 'a duration',
    pattern: DURATION_PATTERN,
    read: readDurationMs,
    print: printDuration,
  });
}

export function size(doc: string, bounds: Bounds): Field<number> {
  return measured(doc, bounds, {
    name: 'a size',
    pattern: SIZE_PATTERN,
    read: readSizeBytes,
    print: printSize,
  });
}

/** Requests per second. */
export function rate(doc: string, bounds: Bounds): Field<number> {
  return measured(doc, bounds, {
    name: 'a rate',
    pattern: RATE_PATTERN,
    read: readRatePerSecond,
    print: printRate,
  });
}

interface Measure {
  readonly name: string;
  readonly pattern: string;
  readonly read: (text: string) => number | undefined;
  readonly print: (value: number) => string;
}

function measured(doc: string, bounds: Bounds, measure: Measure): Field<number> {
  const min = measure.read(bounds.min) ?? Number.NaN;
  const max = measure.read(bounds.max) ?? Number.NaN;
  return {
    doc,
    form: `${measure.name} with its unit, from ${bounds.min} to ${bounds.max}`,
    json: { type: 'string', pattern: measure.pattern },
    read(raw) {
      const value = typeof raw === 'string' ? measure.read(raw) : undefined;
      return value !== undefined && value >= min && value <= max ? value : undefined;
    },
    print: measure.print,
  };
}

export function integer(doc: string, min: number, max: number): Field<number> {
  return {
    doc,
    form: `a whole number from ${min} to ${max}`,
    json: { type: 'integer', minimum: min, maximum: max },
    read: (raw) => (Number.isInteger(raw) && within(raw, min, max) ? (raw as number) : undefined),
    print: String,
  };
}

export function number(doc: string, min: number, max: number): Field<number> {
  return {
    doc,
    form: `a number from ${min} to ${max}`,
    json: { type: 'number', minimum: min, maximum: max },
    read: (raw) => (within(raw, min, max) ? (raw as number) : undefined),
    print: String,
  };
}

function within(raw: unknown, min: number, max: number): boolean {
  return typeof raw === 'number' && raw >= min && raw <= max;
}

export function truth(doc: string): Field<boolean> {
  return {
    doc,
    form: 'true or false',
    json: { type: 'boolean' },
    read: (raw) => (typeof raw === 'boolean' ? raw : undefined),
    print: String,
  };
}

export function oneOf<const Word extends string>(doc: string, words: readonly Word[]): Field<Word> {
  return {
    doc,
    form: words.length === 1 ? words.join('') : `one of ${words.join(', ')}`,
    json: { enum: words },
    read: (raw) => words.find((word) => word === raw),
    print: (value) => value,
  };
}

/** A text that `pattern` describes to machines and `form` to people. */
export function text(doc: string, form: string, pattern: string): Field<string> {
  const grammar = new RegExp(pattern);
  return {
    doc,
    form,
    json: { type: 'string', pattern },
    read: (raw) => (typeof raw === 'string' && grammar.test(raw) ? raw : undefined),
    print: (value) => value,
  };
}

/** An instant, as a date (its first moment in UTC) or a date with time and zone. Milliseconds since the epoch. */
export function instant(doc: string): Field<number> {
  const pattern = '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2})?(Z|[+-]\\d{2}:\\d{2}))?$';
  return {
    doc,
    form: 'a date such as 2027-03-31, or 2027-03-31T12:00Z',
    json: { type: 'string', pattern },
    read: (raw) =>
      typeof raw === 'string' && new RegExp(pattern).test(raw) ? readInstantMs(raw) : undefined,
    print: (value) =>
      new Date(value).toISOString().replace(/(T00:00)?:00\.000Z$/, (_, day) => (day ? '' : 'Z')),
  };
}

/** undefined for a day that its month does not have: the platform would roll it over into the next. */
function readInstantMs(raw: string): number | undefined {
  const ms = Date.parse(raw);
  const day = Date.parse(`${raw.slice(0, 10)}T00:00Z`);
  const exists = !Number.isNaN(day) && new Date(day).toISOString().startsWith(raw.slice(0, 10));
  return exists && !Number.isNaN(ms) ? ms : undefined;
}

export function listOf<T>(doc: string, item: Field<T>, min: number, max: number): Field<readonly T[]> {
  return {
    doc,
    form: `a list of ${min} to ${max}: ${item.form}`,
    json: { type: 'array', items: item.json, minItems: min, maxItems: max },
    read(raw) {
      if (!Array.isArray(raw) || raw.length < min || raw.length > max) return undefined;
      const items = raw.map((entry: unknown) => item.read(entry));
      return items.every((entry): entry is T & ({} | null) => entry !== undefined)
        ? Object.freeze(items)
        : undefined;
    },
    print: (value) => `[${value.map((entry) => item.print(entry)).join(', ')}]`,
  };
}

/** The field, or one word in its place; the word is read as `null`. */
export function orWord<T>(field: Field<T>, word: string): Field<T | null> {
  return {
    doc: field.doc,
    form: `${field.form}, or ${word}`,
    json: { anyOf: [field.json, { const: word }] },
    read: (raw) => (raw === word ? null : field.read(raw)),
    print: (value) => (value === null ? word : field.print(value)),
  };
}

/** The field, or one of some words, which stay words. */
export function orWords<T, const Word extends string>(
  field: Field<T>,
  words: readonly Word[],
): Field<T | Word> {
  const word = oneOf(field.doc, words);
  return {
    doc: field.doc,
    form: `${field.form}, or ${words.join(' or ')}`,
    json: { anyOf: [field.json, word.json] },
    read: (raw) => word.read(raw) ?? field.read(raw),
    print: (value) => (words.some((known) => known === value) ? String(value) : field.print(value as T)),
  };
}

/** A group of fields that can be switched: a word instead of the mapping, or the mapping. */
export interface SwitchField<Word extends string> extends Field<Word> {
  /** What the switch is set to by writing the mapping. */
  readonly mappingWord: Word;
}

export function switched<const Off extends string, const On extends string>(
  doc: string,
  words: readonly Off[],
  mappingWord: On,
): SwitchField<Off | On> {
  const word = oneOf(doc, [...words, mappingWord]);
  return { ...word, form: `${word.form}, or a mapping`, mappingWord };
}

export function isSwitch(field: Field<unknown>): field is SwitchField<string> {
  return 'mappingWord' in field;
}
