import { createHash } from 'node:crypto';
import {
  type Document,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
  type YAMLWarning,
} from 'yaml';
import type { PresetName } from '../core/presets.ts';
import { crossProblems } from './cross-rules.ts';
import { HostIndex } from './host-index.ts';
import { type HostPattern, readHostPattern } from './host-pattern.ts';
import { type Layer, layerOf } from './layer.ts';
import { type KeyPath, Locator, type PolicyProblem, schemaProblems } from './problem.ts';
import { POLICY_FILE_SCHEMA, type WrittenFile } from './schema.ts';

/** A valid policy file. Frozen; resolve it for a host with `resolvePolicy`. */
export interface PolicyFile {
  /** For messages only. */
  readonly name: string;
  readonly preset: PresetName;
  /** SHA-256 of the text, hex: two files with the same text are the same policy. */
  readonly contentHash: string;
  readonly whole: Layer;
  readonly groups: readonly HostGroup[];
  readonly hosts: readonly HostEntry[];
  readonly groupIndex: HostIndex<HostGroup>;
  readonly hostIndex: HostIndex<HostEntry>;
}

export interface HostGroup {
  readonly name: string;
  readonly members: readonly HostPattern[];
  readonly layer: Layer;
}

interface HostEntry {
  readonly pattern: HostPattern;
  readonly layer: Layer;
}

export type ParsedPolicyFile =
  | { readonly kind: 'ok'; readonly file: PolicyFile }
  | { readonly kind: 'invalid'; readonly problems: readonly PolicyProblem[] };

const FILE_BYTES_MAX = 1024 * 1024;
const PROBLEMS_MAX = 100;

/**
 * Reads a policy file. Never throws on any text: a file is valid as a whole, or all that is wrong with it is
 * reported at once (at most 100 problems). An empty file is the `balanced` preset.
 */
export function parsePolicyFile(text: string, name: string): ParsedPolicyFile {
  if (Buffer.byteLength(text) > FILE_BYTES_MAX) {
    return invalid([{ file: name, line: 1, key: '', value: null, rule: 'must be at most 1 MiB long' }]);
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    // The library compares each key with all before it, which takes a minute for ten thousand hosts.
    uniqueKeys: false,
  });
  const syntax = [...document.errors, ...document.warnings].map((error) => syntaxProblem(error, name, lines));
  if (document.errors.length > 0) return invalid(syntax);

  const locator = new Locator(name, document, lines);
  const raw = plainOf(document);
  if (raw === undefined) {
    return invalid([{ file: name, line: 1, key: '', value: null, rule: 'must not use aliases (*name)' }]);
  }
  const { written, problems } = readWritten(raw, locator);
  if (written === undefined) return invalid([...syntax, ...problems, ...keyProblems(document, locator)]);
  const file = assemble(written, text, name, locator);
  const found = [...syntax, ...problems, ...keyProblems(document, locator), ...crossProblems(file, locator)];
  return found.length > 0 ? invalid(found) : { kind: 'ok', file };
}

/** Reads what the schema accepts. Refused parts are reported and left out, so that the rest is checked too. */
function readWritten(
  raw: unknown,
  locator: Locator,
): { readonly written: WrittenFile | undefined; readonly problems: readonly PolicyProblem[] } {
  const read = POLICY_FILE_SCHEMA.safeParse(raw);
  if (read.success) return { written: read.data as WrittenFile, problems: [] };
  const placed = schemaProblems(read.error.issues, [], locator);
  for (const { path } of placed.toReversed()) leaveOut(raw, path);
  const rest = POLICY_FILE_SCHEMA.safeParse(raw);
  return {
    written: rest.success ? (rest.data as WrittenFile) : undefined,
    problems: placed.map(({ problem }) => problem),
  };
}

/** Later entries of a list go first, so that the places of the earlier ones stay right. */
function leaveOut(raw: unknown, path: KeyPath): void {
  let around = raw;
  for (const name of path.slice(0, -1)) around = (around as Record<string, unknown> | undefined)?.[name];
  const last = path.at(-1);
  if (Array.isArray(around) && typeof last === 'number') around.splice(last, 1);
  else if (typeof around === 'object' && around !== null && last !== undefined)
    Reflect.deleteProperty(around, last);
}

function invalid(problems: readonly PolicyProblem[]): ParsedPolicyFile {
  return { kind: 'invalid', problems: problems.toSorted((a, b) => a.line - b.line).slice(0, PROBLEMS_MAX) };
}

function syntaxProblem(error: YAMLError | YAMLWarning, file: string, lines: LineCounter): PolicyProblem {
  const { line } = lines.linePos(error.pos[0]);
  return { file, line, key: '', value: null, rule: error.message };
}

/** Keys written twice, and the one that the platform does not treat as a plain name: no field or host is called that. */
function keyProblems(document: Document, locator: Locator): PolicyProblem[] {
  const found: PolicyProblem[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) found.push(locator.nodeProblem(key, 'is written twice in the same mapping'));
        if (key.value === '__proto__') found.push(locator.nodeProblem(key, 'is not a known key'));
        seen.add(key.value);
      }
    },
  });
  return found;
}

/** undefined: the text uses aliases. They make a small file large, and a key's line ambiguous. */
function plainOf(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 }) ?? {};
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

function assemble(written: WrittenFile, text: string, name: string, locator: Locator): PolicyFile {
  const groups = Object.entries(written.groups ?? {}).map(([group, entry]) => ({
    name: group,
    members: entry.hosts.flatMap((host) => readHostPattern(host) ?? []),
    layer: layerOf('group', `group ${group}`, entry, ['groups', group], locator),
  }));
  const hosts = Object.entries(written.hosts ?? {}).flatMap(([host, entry]) => {
    const pattern = readHostPattern(host);
    return pattern === undefined
      ? []
      : [{ pattern, layer: layerOf('host', host, entry, ['hosts', host], locator) }];
  });
  return Object.freeze({
    name,
    preset: (written.preset ?? 'balanced') as PresetName,
    contentHash: createHash('sha256').update(text).digest('hex'),
    whole: layerOf('file', 'file', written, [], locator),
    groups,
    hosts,
    groupIndex: new HostIndex(
      groups.flatMap((group) => group.members.map((member) => [member, group] as const)),
    ),
    hostIndex: new HostIndex(hosts.map((entry) => [entry.pattern, entry] as const)),
  });
}
