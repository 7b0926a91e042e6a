import { isNode, LineCounter, parseDocument, type Document } from 'yaml';
import { z } from 'zod';
import { showValue } from '../field-fault.ts';
import { type Schedule, scheduleSchema } from './schedule.ts';

/** One thing that is wrong with a schedule file. */
export interface ScheduleProblem {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** Dotted path of the key; empty: the file as a whole. */
  readonly key: string;
  /** What is written there, shortened; null: nothing. */
  readonly value: string | null;
  readonly rule: string;
}

export type ParsedScheduleFile =
  | { readonly kind: 'ok'; readonly schedules: readonly Schedule[] }
  | { readonly kind: 'invalid'; readonly problems: readonly ScheduleProblem[] };

const CHARACTERS_MAX = 1_048_576;
const SCHEDULES_MAX = 200;
const PROBLEMS_MAX = 20;

const fileSchema = z.strictObject({
  schedules: z.array(scheduleSchema).max(SCHEDULES_MAX, `must be at most ${SCHEDULES_MAX}`),
});

/** `schedules.yaml:4: schedules.0.cron: "daily" must be a cron line of five fields` */
export function printScheduleProblem({ file, line, key, value, rule }: ScheduleProblem): string {
  const where = [`${file}:${line}`, ...(key === '' ? [] : [key])].join(': ');
  return `${where}: ${value === null ? rule : `${value} ${rule}`}`;
}

/** Reads and checks a whole schedule file. Never throws. */
export function parseScheduleFile(text: string, file: string): ParsedScheduleFile {
  const whole = (line: number, rule: string): ScheduleProblem => ({ file, line, key: '', value: null, rule });
  if (text.length > CHARACTERS_MAX)
    return { kind: 'invalid', problems: [whole(1, `is larger than ${CHARACTERS_MAX} characters`)] };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  if (document.errors.length > 0) {
    const problems = document.errors.map(({ pos, message }) => whole(lines.linePos(pos[0]).line, message));
    return { kind: 'invalid', problems: problems.slice(0, PROBLEMS_MAX) };
  }
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 0 });
  } catch {
    return { kind: 'invalid', problems: [whole(1, 'must not use aliases')] };
  }
  const place = placer(file, document, lines);
  const read = fileSchema.safeParse(raw ?? {});
  const problems = read.success
    ? doubles(read.data.schedules, place)
    : read.error.issues.flatMap((i) => problemsOf(i, place));
  if (read.success && problems.length === 0) return { kind: 'ok', schedules: read.data.schedules };
  return { kind: 'invalid', problems: problems.toSorted((a, b) => a.line - b.line).slice(0, PROBLEMS_MAX) };
}

type Place = (path: readonly PropertyKey[], rule: string, isKey?: boolean) => ScheduleProblem;

function placer(file: string, document: Document, lines: LineCounter): Place {
  return (path, rule, isKey = false) => {
    const node = nearest(document, path);
    const own: unknown = document.getIn(path, false);
    const value = isKey || own === undefined || isNode(own) ? null : JSON.stringify(showValue(own));
    return { file, line: lines.linePos(node).line, key: path.map(String).join('.'), value, rule };
  };
}

/** Where the node of a path, or of the nearest one around it, begins. */
function nearest(document: Document, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function problemsOf(issue: z.core.$ZodIssue, place: Place): ScheduleProblem[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => place([...issue.path, key], 'is not a known key', true));
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    const problem = place(issue.path, `must be ${article(issue.expected)}`);
    return [
      problem.value === null ? { ...problem, rule: `must be given, as ${article(issue.expected)}` } : problem,
    ];
  }
  return [place(issue.path, issue.message)];
}

const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'a mapping of keys to values',
  string: 'a text',
};

function article(expected: string): string {
  return EXPECTED[expected] ?? `a ${expected}`;
}

function doubles(schedules: readonly Schedule[], place: Place): ScheduleProblem[] {
  const seen = new Set<string>();
  return schedules.flatMap(({ name }, index) => {
    if (seen.has(name))
      return [place(['schedules', index, 'name'], 'is the name of another schedule already')];
    seen.add(name);
    return [];
  });
}
