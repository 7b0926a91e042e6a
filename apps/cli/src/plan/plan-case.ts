import { PRESET_NAMES } from '@holdoff/throttle-core';
import { readDurationMs } from '@holdoff/throttle-core/policy-file';
import { z } from 'zod';
import { INSTANT_RULE, parseInstant } from '../retry-after/wait-question.ts';

/** What `holdoff plan` is asked: one result of one job, as people and scripts write it. */
export type PlanCase = z.infer<typeof caseSchema>;

/** Why a case cannot be planned: which field, what was there, what it should have been. */
export interface CaseFault {
  readonly field: string;
  readonly value: unknown;
  readonly rule: string;
}

export type CaseReading =
  | { readonly kind: 'case'; readonly case: PlanCase }
  | { readonly kind: 'faults'; readonly faults: readonly CaseFault[] };

const DURATION_RULE = 'must be seconds, such as 6 or 0.5, or a duration such as 250ms, 30s, 5m, 6h';

/** Milliseconds. A bare number is seconds here, as in Retry-After and in the figures people quote. */
const duration = z.union([z.string(), z.number()], DURATION_RULE).transform((written, context) => {
  const durationMs = typeof written === 'number' ? written * 1000 : wordsMs(written);
  if (durationMs !== undefined && durationMs >= 0 && durationMs <= Number.MAX_SAFE_INTEGER / 1000) {
    return Math.ceil(durationMs);
  }
  context.addIssue({ code: 'custom', message: DURATION_RULE });
  return z.NEVER;
});

function wordsMs(written: string): number | undefined {
  return /^\d{1,12}(\.\d{1,6})?$/.test(written) ? Number(written) * 1000 : readDurationMs(written);
}

function numeric(rule: string, isValid: (value: number) => boolean) {
  return z.union([z.string(), z.number()], rule).transform((written, context) => {
    const value = typeof written === 'string' && /^-?\d+(\.\d+)?$/.test(written) ? Number(written) : written;
    if (typeof value === 'number' && isValid(value)) return value;
    context.addIssue({ code: 'custom', message: rule });
    return z.NEVER;
  });
}

function count(least: number) {
  const rule = `must be a whole number from ${least}`;
  return numeric(rule, (value) => Number.isSafeInteger(value) && value >= least);
}

const NONE = z.literal(['none', null]).transform(() => null);

/** The value or `none`, which is null. The value's own rule is reported. */
function orNone<T extends z.ZodType>(schema: T) {
  return z.unknown().transform((written, context): z.output<T> | null => {
    if (NONE.safeParse(written).success) return null;
    const read = schema.safeParse(written);
    if (read.success) return read.data;
    context.addIssue({ code: 'custom', message: `${read.error.issues[0]?.message ?? ''}, or none` });
    return z.NEVER;
  });
}

const lines = z
  .union([z.string(), z.number(), z.array(z.string()), z.null()], 'must be a value, a list of lines, or null')
  .transform((written) => {
    if (written === null) return [];
    return Array.isArray(written) ? written : [String(written)];
  });

const headers = z.record(z.string(), lines, 'must map header names to values');

const HTTP_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;

const caseSchema = z.strictObject({
  preset: z.enum(PRESET_NAMES, `must be one of ${PRESET_NAMES.join(', ')}`).optional(),
  method: z.string().regex(HTTP_TOKEN, 'must be an HTTP method').default('GET'),
  status: numeric(
    'must be a status from 100 to 999',
    (value) => Number.isInteger(value) && value >= 100 && value <= 999,
  ).optional(),
  fault: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{1,63}$/, 'must be an error code such as ECONNRESET')
    .optional(),
  retryAfter: lines.optional(),
  headers: headers.default({}),
  attempts: count(1).default(1),
  maxAttempts: orNone(count(1)).optional(),
  elapsed: duration.default(0),
  deadline: orNone(duration).optional(),
  attemptBudget: duration.optional(),
  headroom: duration.optional(),
  base: duration.optional(),
  cap: duration.optional(),
  tokens: orNone(count(0)).default(null),
  hostTokens: orNone(numeric('must be a number from 0', (value) => value >= 0)).default(null),
  throttledInRun: count(0).default(0),
  deferrals: count(0).default(0),
  hintlessEvents: count(0).default(0),
  cooldown: duration.default(0),
  circuitOpen: duration.default(0),
  redirectHop: count(1).optional(),
  approved: z.boolean('must be true or false').default(true),
  cancelled: z.boolean('must be true or false').default(false),
  receivedAt: z
    .union([z.string(), z.number()], `must be ${INSTANT_RULE}`)
    .transform((written, context) => {
      const instantMs = parseInstant(written);
      if (instantMs !== undefined) return instantMs;
      context.addIssue({ code: 'custom', message: `must be ${INSTANT_RULE}` });
      return z.NEVER;
    })
    .optional(),
  draw: numeric('must be a number from 0 to 1', (value) => value >= 0 && value <= 1).default(0.5),
});

/** Other names that people use for a field. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  perattempt: 'attemptBudget',
  nohintevents: 'hintlessEvents',
  attemptsmax: 'maxAttempts',
  batchtokens: 'tokens',
  elapsedseconds: 'elapsed',
  deadlineseconds: 'deadline',
};

const FIELD_NAMES: ReadonlyMap<string, string> = new Map([
  ...Object.keys(caseSchema.shape).map((name) => [plain(name), name] as const),
  ...Object.entries(OTHER_NAMES),
]);

/** `max_attempts`, `max-attempts` and `maxAttempts` are one name. */
function plain(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}

/** Reads a case. All that is wrong with it is reported at once. */
export function readPlanCase(written: unknown): CaseReading {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    return {
      kind: 'faults',
      faults: [{ field: 'case', value: shortened(written), rule: 'must be one JSON object' }],
    };
  }
  const fields: Record<string, unknown> = {};
  const faults: CaseFault[] = [];
  for (const [name, value] of Object.entries(written)) {
    const field = FIELD_NAMES.get(plain(name));
    if (field === undefined)
      faults.push({ field: name, value: shortened(value), rule: 'is not a known field' });
    else if (Object.hasOwn(fields, field))
      faults.push({
        field: name,
        value: shortened(value),
        rule: `is another name of ${field}, which is there too`,
      });
    else fields[field] = value;
  }
  const read = caseSchema.safeParse(fields);
  for (const issue of read.error?.issues ?? []) {
    const field = issue.path.join('.');
    faults.push({ field, value: shortened(fields[String(issue.path[0])]), rule: issue.message });
  }
  return read.success && faults.length === 0 ? { kind: 'case', case: read.data } : { kind: 'faults', faults };
}

const ECHO_MAX = 80;

function shortened(value: unknown): unknown {
  const text = JSON.stringify(value) ?? '';
  return text.length <= ECHO_MAX ? (value ?? null) : `${text.slice(0, ECHO_MAX)}…`;
}
