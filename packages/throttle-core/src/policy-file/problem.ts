import {
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import type { z } from 'zod';

/** One thing that is wrong with a policy file. */
export interface PolicyProblem {
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  /** Dotted path of the key; empty: the file as a whole. */
  readonly key: string;
  /** What is written there, shortened; null: nothing. */
  readonly value: string | null;
  readonly rule: string;
}

/** `policy.yaml:12: pace.interval: 5 must be a duration from 1ms to 24h, or none` */
export function printProblem({ file, line, key, value, rule }: PolicyProblem): string {
  const where = [`${file}:${line}`, ...(key === '' ? [] : [key])].join(': ');
  return `${where}: ${value === null ? rule : `${value} ${rule}`}`;
}

export type KeyPath = readonly (string | number)[];

/** Finds where things are written, for messages. */
export class Locator {
  readonly #file: string;
  readonly #document: Document;
  readonly #lines: LineCounter;
  readonly #pairs = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

  constructor(file: string, document: Document, lines: LineCounter) {
    this.#file = file;
    this.#document = document;
    this.#lines = lines;
  }

  problem(path: KeyPath, rule: string): PolicyProblem {
    return this.#make(path, rule, this.#valueAt(path));
  }

  /** A problem of a key, whatever its value. */
  keyProblem(path: KeyPath, rule: string): PolicyProblem {
    return this.#make(path, rule, null);
  }

  /** A problem of a key that no path leads to. */
  nodeProblem(node: Scalar, rule: string): PolicyProblem {
    const line = this.#lines.linePos(startOf(node) ?? 0).line;
    return { file: this.#file, line, key: String(node.value), value: null, rule };
  }

  #make(path: KeyPath, rule: string, value: string | null): PolicyProblem {
    return { file: this.#file, line: this.lineOf(path), key: path.map(printKey).join('.'), value, rule };
  }

  /** The line of a key, or of the nearest mapping around it. 1-based. */
  lineOf(path: KeyPath): number {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = this.#offsetOf(path.slice(0, length));
      if (offset !== undefined) return this.#lines.linePos(offset).line;
    }
    return 1;
  }

  #offsetOf(path: KeyPath): number | undefined {
    const around = this.#nodeAt(path.slice(0, -1));
    const name = path.at(-1) ?? '';
    const node = isMap(around) ? this.#pairsOf(around).get(String(name))?.key : this.#nodeAt(path);
    return isNode(node) ? startOf(node) : undefined;
  }

  #nodeAt(path: KeyPath): unknown {
    let node: unknown = this.#document.contents;
    for (const name of path) {
      if (isMap(node)) node = this.#pairsOf(node).get(String(name))?.value;
      else if (isSeq(node)) node = node.items[Number(name)];
      else return undefined;
    }
    return node;
  }

  /** The library looks keys up one by one, which takes minutes in a file with ten thousand hosts. */
  #pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
    const known = this.#pairs.get(map);
    if (known !== undefined) return known;
    const pairs = new Map(map.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : '', pair]));
    this.#pairs.set(map, pairs);
    return pairs;
  }

  #valueAt(path: KeyPath): string | null {
    const node = this.#nodeAt(path);
    if (!isNode(node)) return null;
    const written = JSON.stringify(node.toJS(this.#document, { maxAliasCount: 0 }) ?? null);
    return written.length > VALUE_MAX ? `${written.slice(0, VALUE_MAX)}…` : written;
  }
}

const VALUE_MAX = 80;

/** A name with a dot in it is quoted, so that `hosts."a.test".pace` cannot be misread. */
function printKey(key: string | number): string {
  return /^[\w-]*$/.test(String(key)) ? String(key) : JSON.stringify(key);
}

function startOf(node: Node): number | undefined {
  return node.range?.[0];
}

/** A problem, and the part of the file that has to be left out to read the rest. */
export interface PlacedProblem {
  readonly problem: PolicyProblem;
  readonly path: KeyPath;
}

/** Turns what the schema reports into problems with a place. */
export function schemaProblems(
  issues: readonly z.core.$ZodIssue[],
  around: KeyPath,
  locator: Locator,
): PlacedProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, [...around, ...issue.path.map(named)], locator));
}

function problemsOf(issue: z.core.$ZodIssue, path: KeyPath, locator: Locator): PlacedProblem[] {
  const placed = (problem: PolicyProblem): PlacedProblem => ({ problem, path });
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys
        .map((key) => [...path, key])
        .map((inner) => ({ problem: locator.keyProblem(inner, unknownKeyRule(inner)), path: inner }));
    case 'invalid_union':
      return unionProblems(issue.errors, path, locator);
    case 'invalid_key':
      return issue.issues.map(({ message }) => placed(locator.keyProblem(path, `the name ${message}`)));
    case 'invalid_type':
      return [placed(locator.problem(path, MAPPING_RULES[issue.expected] ?? `must be a ${issue.expected}`))];
    default:
      return [placed(locator.problem(path, issue.message))];
  }
}

const MAPPING_RULES: Readonly<Record<string, string>> = {
  object: 'must be a mapping of keys to values',
  record: 'must be a mapping of names to entries',
  array: 'must be a list',
};

function unknownKeyRule(path: KeyPath): string {
  const key = path.at(-1);
  if (path.length === 1 && key === 'robots')
    return 'is an exception for named hosts: write it under hosts or groups';
  if (path.length === 3 && key === 'spend')
    return 'is a limit of whole batches: write it at the top of the file';
  const around = path.slice(0, -1).map(printKey).join('.');
  return around === '' ? 'is not a known key' : `is not a known key of ${around}`;
}

/** A switch or its mapping: only the branch that was meant is worth reporting. */
function unionProblems(
  branches: readonly (readonly z.core.$ZodIssue[])[],
  path: KeyPath,
  locator: Locator,
): PlacedProblem[] {
  const [asWord = [], asMapping = []] = branches;
  const meantMapping = !asMapping.some(({ code, path }) => code === 'invalid_type' && path.length === 0);
  return schemaProblems(meantMapping ? asMapping : asWord, path, locator);
}

function named(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}
