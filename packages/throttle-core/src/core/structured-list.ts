/** One member of a structured-field list: what it names, and its parameters. */
export interface ListMember {
  readonly name: string;
  /** Integers only; any other parameter value is undefined, and its key is still there. */
  readonly parameters: ReadonlyMap<string, number | undefined>;
}

const OWS = '[ \\t]*';
const KEY = '[a-z*][a-z0-9_.*-]*';
const INTEGER = '-?[0-9]{1,15}(?![0-9.])';
const DECIMAL = '-?[0-9]{1,12}\\.[0-9]{1,3}(?![0-9.])';
const STRING = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"';
const DISPLAY_STRING = '%"(?:[\\x20\\x21\\x23\\x24\\x26-\\x7e]|%[0-9a-f]{2})*"';
const TOKEN = "[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*";
const BYTES = ':[A-Za-z0-9+/=]*:';
const BARE = `(?:${INTEGER}|${DECIMAL}|${STRING}|${DISPLAY_STRING}|${TOKEN}|${BYTES}|\\?[01]|@${INTEGER})`;

const NAME = new RegExp(`(?:${STRING}|${TOKEN})`, 'uy');
const PARAMETER = new RegExp(`${OWS};[ ]*(?<key>${KEY})(?:=(?<value>${BARE}))?`, 'uy');
const COMMA = new RegExp(`${OWS},${OWS}`, 'uy');
const ENTRY = new RegExp(`(?<key>${KEY})=(?<value>${BARE})`, 'uy');

/**
 * Reads a list of named items with parameters (RFC 9651 sections 3.1 and 3.1.2), such as
 * `"burst";r=0;t=5, "daily";r=900;t=3600`. A token is taken for a string, as early drafts wrote it. undefined: the
 * line is not such a list, and nothing of it counts.
 */
export function parseNamedList(line: string): readonly ListMember[] | undefined {
  const members: ListMember[] = [];
  const scanner = new Scanner(line);
  do {
    const name = scanner.take(NAME)?.[0];
    if (name === undefined) return undefined;
    members.push({ name, parameters: takeParameters(scanner) });
  } while (scanner.take(COMMA) !== undefined);
  return scanner.isAtEnd ? members : undefined;
}

/** Reads `limit=100, remaining=0, reset=30` (RFC 9651 section 3.2); integers only, as in {@link ListMember}. */
export function parseDictionary(line: string): ReadonlyMap<string, number | undefined> | undefined {
  const entries = new Map<string, number | undefined>();
  const scanner = new Scanner(line);
  do {
    const entry = scanner.take(ENTRY)?.groups as KeyAndValue | undefined;
    if (entry === undefined) return undefined;
    entries.set(entry.key, integerOf(entry.value));
    takeParameters(scanner);
  } while (scanner.take(COMMA) !== undefined);
  return scanner.isAtEnd ? entries : undefined;
}

/** What {@link PARAMETER} and {@link ENTRY} capture; a parameter without a value stands for true. */
interface KeyAndValue {
  readonly key: string;
  readonly value?: string;
}

/** A key that is written twice means its last value (RFC 9651 section 4.2.3.2). */
function takeParameters(scanner: Scanner): ReadonlyMap<string, number | undefined> {
  const parameters = new Map<string, number | undefined>();
  for (let match = scanner.take(PARAMETER); match !== undefined; match = scanner.take(PARAMETER)) {
    const { key, value } = match.groups as unknown as KeyAndValue;
    parameters.set(key, integerOf(value));
  }
  return parameters;
}

function integerOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?[0-9]+$/u.test(text) ? Number(text) : undefined;
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Takes what a sticky pattern matches here; undefined, and nothing taken, where it does not. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at += match[0].length;
    return match;
  }
}
