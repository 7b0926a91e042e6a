import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PRESET_NAMES, PRESETS } from '../core/presets.ts';
import type { Field } from './field.ts';
import { type FieldKey, FIELD_KEYS, FIELDS, isSwitchedOff, PACE_RATE } from './fields.ts';
import { parsePolicyFile } from './parse-policy-file.ts';
import { valuesOf } from './policy-values.ts';
import { printProblem } from './problem.ts';
import { policyJsonSchema } from './schema.ts';

const DOCS = new URL('../../../../docs/', import.meta.url);
const DOC = readFileSync(new URL('policy.md', DOCS), 'utf8');

/** The rows of all tables between `<!-- fields -->` marks, cell by cell: padding is the formatter's affair. */
function rowsInDoc(): readonly (readonly string[])[] {
  return DOC.split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/u)
        .map((cell) => cell.trim().replaceAll('\\', '')),
    );
}

function cellsOf(key: FieldKey): readonly string[] {
  const field: Field<unknown> = FIELDS[key];
  const defaults = PRESET_NAMES.map((name) => {
    const values = valuesOf(PRESETS[name]);
    return isSwitchedOff(values, key) ? '–' : field.print(values[key]);
  });
  return [`\`${key}\``, field.doc, field.form, ...defaults];
}

describe('docs/policy.md', () => {
  test('lists every field with meaning, form and defaults as the code has them', () => {
    const rows = rowsInDoc();
    for (const key of FIELD_KEYS) {
      expect(rows.find(([name]) => name === `\`${key}\``)).toEqual(cellsOf(key));
    }
    const rate = ['`pace.rate`', PACE_RATE.doc, PACE_RATE.form, '–', '–', '–'];
    expect(rows.find(([name]) => name === '`pace.rate`')).toEqual(rate);
    expect(rows).toHaveLength(FIELD_KEYS.length + 1);
  });

  test('shows only valid files', () => {
    const examples = [...DOC.matchAll(/```yaml\n(.*?)```/gsu)].map(([, text = '']) => text);
    expect(examples.length).toBeGreaterThan(1);
    for (const text of examples) {
      const parsed = parsePolicyFile(text, 'docs/policy.md');
      expect(parsed.kind === 'ok' ? [] : parsed.problems.map(printProblem)).toEqual([]);
    }
  });
});

test('docs/policy.schema.json is the schema that the code makes (holdoff policy schema)', () => {
  const stored: unknown = JSON.parse(readFileSync(new URL('policy.schema.json', DOCS), 'utf8'));
  expect(stored).toEqual(policyJsonSchema());
});
