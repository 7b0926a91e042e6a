import { z } from 'zod';
import { type Field, isSwitch, type SwitchField } from './field.ts';
import { type FieldKey, FIELDS, KEYS_AT, type Level, PACE_RATE, PRESET_FIELD } from './fields.ts';
import { HOST_PATTERN_FORM, readHostPattern } from './host-pattern.ts';

/** The fields as the nested mappings that people write. */
interface Branch {
  field: Field<unknown> | null;
  readonly children: Map<string, Branch>;
}

/** What a mapping of a policy file holds after reading: values by field, nested as they were written. */
export interface Written {
  readonly [key: string]: unknown;
}

interface WrittenGroup extends Written {
  readonly hosts: readonly string[];
}

export interface WrittenFile extends Written {
  readonly preset?: unknown;
  readonly groups?: Readonly<Record<string, WrittenGroup>>;
  readonly hosts?: Readonly<Record<string, Written>>;
}

const GROUPS_MAX = 1000;
const HOSTS_MAX = 10_000;

const GROUP_NAME_FORM = 'a group name of lower-case letters, digits and dashes, at most 63';
const GROUP_NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,62}$/;

const hostPattern = z.string(HOST_PATTERN_FORM).refine((written) => readHostPattern(written) !== undefined, {
  error: `must be ${HOST_PATTERN_FORM}`,
});

const groupName = z.string().regex(GROUP_NAME_PATTERN, `must be ${GROUP_NAME_FORM}`);

const hostEntry = z.strictObject(shapeOf('host'));
const groupEntry = z.strictObject({
  hosts: z
    .array(hostPattern)
    .min(1, 'must name at least one host')
    .max(HOSTS_MAX, `must name at most ${HOSTS_MAX} hosts`)
    .meta({ description: 'Hosts, or *. and a hostname, that share one throttling scope.' }),
  ...shapeOf('group'),
});

/** The whole policy file. One schema reads it, reports what is wrong with it, and describes it to editors. */
export const POLICY_FILE_SCHEMA = z.strictObject({
  preset: leaf(PRESET_FIELD).optional(),
  ...shapeOf('file'),
  groups: bounded(z.record(groupName, groupEntry), GROUPS_MAX, 'groups')
    .meta({ description: 'Hosts that share one throttling scope, by the name of the scope.' })
    .optional(),
  hosts: bounded(z.record(hostPattern, hostEntry), HOSTS_MAX, 'hosts')
    .meta({ description: 'What differs for single hosts, by exact hostname or *. and a hostname.' })
    .optional(),
});

/** The JSON Schema (draft 2020-12) of the policy file, for editors. */
export function policyJsonSchema(): Record<string, unknown> {
  return {
    ...z.toJSONSchema(POLICY_FILE_SCHEMA, { io: 'input' }),
    title: 'Holdoff policy file',
    description: 'How patient, how bounded and how fast a fleet of Holdoff workers is, per host.',
  };
}

function bounded<T extends z.ZodType>(schema: T, max: number, what: string) {
  return schema.refine((value) => Object.keys(value as object).length <= max, {
    error: `must have at most ${max} ${what}`,
  });
}

function shapeOf(level: Level): Record<string, z.ZodType> {
  return shapeOfBranch(treeOf(level));
}

function treeOf(level: Level): Branch {
  const root: Branch = { field: null, children: new Map() };
  for (const key of KEYS_AT[level]) plant(root, key, FIELDS[key]);
  plant(root, 'pace.rate', PACE_RATE);
  return root;
}

function plant(root: Branch, key: FieldKey | 'pace.rate', field: Field<unknown>): void {
  let branch = root;
  for (const name of key.split('.')) {
    const child = branch.children.get(name) ?? { field: null, children: new Map<string, Branch>() };
    branch.children.set(name, child);
    branch = child;
  }
  branch.field = field;
}

function shapeOfBranch(branch: Branch): Record<string, z.ZodType> {
  return Object.fromEntries(
    [...branch.children].map(([name, child]) => [name, schemaOf(child).optional()] as const),
  );
}

function schemaOf(branch: Branch): z.ZodType {
  const { field, children } = branch;
  if (field !== null && children.size === 0) return leaf(field);
  const mapping = z.strictObject(shapeOfBranch(branch));
  return field !== null && isSwitch(field) ? switchOrMapping(field, mapping) : mapping;
}

function switchOrMapping(field: SwitchField<string>, mapping: z.ZodType): z.ZodType {
  return z.union([leaf(field), mapping]).meta({ description: field.doc });
}

/** A field as a schema: the field itself reads the value, so messages and JSON Schema say the same. */
function leaf(field: Field<unknown>): z.ZodType {
  return z
    .unknown()
    .transform((raw, context) => {
      const value = field.read(raw);
      if (value !== undefined) return value;
      context.issues.push({ code: 'custom', message: `must be ${field.form}`, input: raw });
      return z.NEVER;
    })
    .meta({ ...field.json, description: `${field.doc} Write ${field.form}.` });
}
