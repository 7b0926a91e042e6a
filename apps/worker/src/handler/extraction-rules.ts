import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const FIELDS_MAX = 100;
const SELECTOR_CHARACTERS_MAX = 1_000;
const FIELD_NAME = /^[A-Za-z_][\w-]{0,63}$/u;

const rule = z.strictObject({
  /** CSS selector. */
  selector: z.string().min(1).max(SELECTOR_CHARACTERS_MAX),
  /** Attribute to take; absent: the text. */
  attribute: z
    .string()
    .regex(/^[\w:-]{1,64}$/u)
    .optional(),
  /** Take every match, as an array; else the first one, or null. */
  all: z.boolean().default(false),
});

const rules = z
  .record(z.string().regex(FIELD_NAME), rule)
  .refine((fields) => Object.keys(fields).length >= 1 && Object.keys(fields).length <= FIELDS_MAX, {
    error: `must have 1 to ${FIELDS_MAX} fields`,
  });

export type ExtractionRules = Readonly<Record<string, z.infer<typeof rule>>>;

/** @throws Error that names the file and the place in it. Selectors themselves are checked by the handler thread. */
export async function readExtractionRules(path: string): Promise<ExtractionRules> {
  let content: unknown;
  try {
    // JSON is YAML.
    content = parse(await readFile(path, 'utf8'), { maxAliasCount: 10 });
  } catch (cause) {
    throw new Error(`bad configuration: EXTRACT: ${path} cannot be read`, { cause });
  }
  const read = rules.safeParse(content);
  if (read.success) return read.data;
  const faults = read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`bad configuration: EXTRACT: ${path}: ${faults.join('; ')}`);
}
