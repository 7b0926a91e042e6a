import { isSwitch } from './field.ts';
import { type FieldKey, FIELDS, KEYS_AT, type Level, type PolicyValues } from './fields.ts';
import type { KeyPath, Locator } from './problem.ts';
import type { Written } from './schema.ts';

/** What one entry of a policy file sets. */
export interface Layer {
  readonly level: Level;
  /** For people: `file`, `group acme`, `*.shop.test`. */
  readonly name: string;
  /** Where the entry is in the file. */
  readonly path: KeyPath;
  readonly values: Partial<PolicyValues>;
  /** 1-based line of each value. */
  readonly lines: Readonly<Partial<Record<FieldKey, number>>>;
  /** Set where both spellings of the pace are written. */
  readonly paceTwice: boolean;
}

/** Takes the values out of a mapping that the schema has read. */
export function layerOf(
  level: Level,
  name: string,
  written: Written,
  path: KeyPath,
  locator: Locator,
): Layer {
  const values: Partial<Record<FieldKey, unknown>> = {};
  const lines: Partial<Record<FieldKey, number>> = {};
  const set = (key: FieldKey, value: unknown, writtenAs: string): void => {
    values[key] = value;
    lines[key] = locator.lineOf([...path, ...writtenAs.split('.')]);
  };
  for (const key of KEYS_AT[level]) {
    const value = valueAt(written, key);
    if (value !== undefined) set(key, value, key);
  }
  const perSecond = valueAt(written, 'pace.rate');
  const paceTwice = typeof perSecond === 'number' && values['pace.interval'] !== undefined;
  // Rounded up: the interval may come out slower than the rate that was written, never faster.
  if (typeof perSecond === 'number') set('pace.interval', Math.ceil(1000 / perSecond), 'pace.rate');
  return { level, name, path, values: values as Partial<PolicyValues>, lines, paceTwice };
}

/** The value that was written under a dotted key; a mapping under a switch sets the switch. */
function valueAt(written: Written, key: FieldKey | 'pace.rate'): unknown {
  let value: unknown = written;
  for (const name of key.split('.')) {
    if (!isMapping(value)) return undefined;
    value = value[name];
  }
  if (key === 'pace.rate' || !isMapping(value)) return value;
  const field = FIELDS[key];
  return isSwitch(field) ? field.mappingWord : undefined;
}

function isMapping(value: unknown): value is Written {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
