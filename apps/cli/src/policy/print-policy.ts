import pc from 'picocolors';
import {
  type Field,
  FIELD_KEYS,
  type FieldKey,
  FIELDS,
  isSwitchedOff,
  type Origin,
  type ResolvedPolicy,
} from '@holdoff/throttle-core/policy-file';

/** One value in force and where it comes from. */
interface ValueRow {
  readonly key: FieldKey;
  readonly value: string;
  readonly from: string;
  readonly isPreset: boolean;
}

/** The values in force, without those of switched-off groups. */
function rowsOf({ values, origins }: ResolvedPolicy): readonly ValueRow[] {
  return FIELD_KEYS.filter((key) => !isSwitchedOff(values, key)).map((key) => {
    const field: Field<unknown> = FIELDS[key];
    const origin = origins[key];
    return { key, value: field.print(values[key]), from: originText(origin), isPreset: origin.line === null };
  });
}

function originText({ layer, line }: Origin): string {
  return line === null ? layer : `${layer}, line ${line}`;
}

/** The effective policy for people: key, value and origin in columns; what the file itself says stands out. */
export function printPolicy(resolved: ResolvedPolicy, isColored: boolean): string {
  const colors = pc.createColors(isColored);
  const rows = rowsOf(resolved);
  const keyWidth = Math.max(...rows.map(({ key }) => key.length));
  const valueWidth = Math.min(VALUE_WIDTH_MOST, Math.max(...rows.map(({ value }) => value.length)));
  return rows
    .map(({ key, value, from, isPreset }) => {
      const line = `  ${key.padEnd(keyWidth)}  ${value.padEnd(valueWidth)}`;
      return isPreset ? `${line}  ${colors.dim(from)}\n` : `${colors.bold(line)}  ${colors.cyan(from)}\n`;
    })
    .join('');
}

const VALUE_WIDTH_MOST = 18;

/** Values as they would be written in the file, each with its origin. */
export function policyValuesJson(resolved: ResolvedPolicy): Record<string, unknown> {
  return Object.fromEntries(
    rowsOf(resolved).map(({ key, value }) => {
      const { layer, line } = resolved.origins[key];
      return [key, { value, from: layer, line }] as const;
    }),
  );
}
