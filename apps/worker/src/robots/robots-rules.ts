/** What one robots.txt says to us. */
export interface RobotsRules {
  readonly rules: readonly RobotsRule[];
  /** As written, in seconds; null: none that can be read. */
  readonly crawlDelaySeconds: number | null;
}

export interface RobotsRule {
  readonly allow: boolean;
  /** Normalised by `normalisePath`; `*` stands for anything, a final `$` for the end. */
  readonly pattern: string;
}

/** RFC 9309 §2.5: at least this much must be read. What follows is ignored. */
export const ROBOTS_BYTES_MAX = 512_000;
/** The rest of a longer line is ignored. */
const LINE_CHARACTERS_MAX = 16_384;

/**
 * Reads a robots.txt for one product token (RFC 9309 §2.2). All groups that name the token are one group; without
 * any, the groups for `*` are. Lines that are no rules (Sitemap, unknown ones) neither end a group nor split one.
 * Text of any kind is accepted: what cannot be read as a line of the format is skipped.
 */
export function parseRobots(body: Uint8Array, productToken: string): RobotsRules {
  const named = new Group();
  const everyone = new Group();
  let open: ReadonlySet<Group> = new Set();
  let collecting = false;
  for (const [key, value] of records(body)) {
    if (key === 'user-agent') {
      // A group may have several such lines; the first one after a rule begins the next group.
      if (!collecting) open = new Set();
      collecting = true;
      const group = groupFor(value, productToken, named, everyone);
      if (group !== undefined) {
        group.present = true;
        open = new Set([...open, group]);
      }
    } else if (key === 'allow' || key === 'disallow') {
      collecting = false;
      if (value !== '') for (const group of open) group.add(key === 'allow', value);
    } else if (key === 'crawl-delay') {
      const seconds = readDelay(value);
      if (seconds !== null) for (const group of open) group.slow(seconds);
    }
  }
  const { rules, crawlDelaySeconds } = named.present ? named : everyone;
  return { rules, crawlDelaySeconds };
}

/**
 * Whether a URL may be fetched: the rule with the longest pattern that matches decides, `allow` among equals
 * (RFC 9309 §2.2.2). robots.txt itself always may.
 */
export function isAllowed(rules: readonly RobotsRule[], url: URL): boolean {
  if (url.pathname === '/robots.txt') return true;
  const path = normalisePath(url.pathname + url.search)
    .replaceAll('*', '%2A')
    .replaceAll('$', '%24');
  let best: RobotsRule | undefined;
  for (const rule of rules) {
    const better =
      best === undefined ||
      rule.pattern.length > best.pattern.length ||
      (rule.pattern.length === best.pattern.length && rule.allow && !best.allow);
    if (better && matches(rule.pattern, path)) best = rule;
  }
  return best?.allow ?? true;
}

class Group {
  present = false;
  crawlDelaySeconds: number | null = null;
  /** By what they say: a file of ten thousand equal lines is one rule. */
  readonly #rules = new Map<string, RobotsRule>();

  get rules(): RobotsRule[] {
    return [...this.#rules.values()];
  }

  add(allow: boolean, path: string): void {
    const anchored = path.endsWith('$');
    const text = normalisePath(anchored ? path.slice(0, -1) : path).replaceAll('$', '%24');
    const pattern = anchored ? `${text}$` : text;
    this.#rules.set(`${allow} ${pattern}`, { allow, pattern });
  }

  /** Of several delays the longest is meant for us as well. */
  slow(seconds: number): void {
    this.crawlDelaySeconds = Math.max(this.crawlDelaySeconds ?? 0, seconds);
  }
}

function* records(body: Uint8Array): Generator<readonly [key: string, value: string]> {
  // Drops a byte order mark; bytes that are no UTF-8 become characters that match no path.
  const text = new TextDecoder('utf-8').decode(body.subarray(0, ROBOTS_BYTES_MAX));
  for (const line of text.split(/\r\n|\r|\n/u)) {
    const bare = line.slice(0, LINE_CHARACTERS_MAX).split('#', 1)[0] ?? '';
    const colon = bare.indexOf(':');
    if (colon > 0) yield [bare.slice(0, colon).trim().toLowerCase(), bare.slice(colon + 1).trim()];
  }
}

/** The token is the leading run of letters, `_` and `-` (RFC 9309 §2.2.1): `Holdoff/1.0 (x)` names `holdoff`. */
function groupFor(value: string, token: string, named: Group, everyone: Group): Group | undefined {
  if (/^\*(?:\s|$)/u.test(value)) return everyone;
  const name = /^[A-Za-z_-]+/u.exec(value)?.[0] ?? '';
  return name.toLowerCase() === token.toLowerCase() ? named : undefined;
}

function readDelay(value: string): number | null {
  return /^\d{1,9}(?:\.\d{1,9})?$/u.test(value) ? Number(value) : null;
}

/**
 * One spelling for paths and patterns (RFC 9309 §2.2.2): escapes of unreserved characters are written out, other
 * escapes in capitals, everything beyond ASCII as escaped UTF-8.
 */
function normalisePath(path: string): string {
  return path
    .replaceAll(/[^\u0021-\u007e]+/gu, (text) => encodeURIComponent(text.toWellFormed()))
    .replaceAll(/%[0-9a-f]{2}/giu, (escape) => {
      const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      return /[A-Za-z0-9._~-]/u.test(character) ? character : escape.toUpperCase();
    });
}

/** Each literal piece is looked for once, after the one before: no pattern can make this slow. */
function matches(pattern: string, path: string): boolean {
  const anchored = pattern.endsWith('$');
  const pieces = (anchored ? pattern.slice(0, -1) : pattern).split('*');
  const first = pieces.shift() ?? '';
  if (!path.startsWith(first)) return false;
  const last = pieces.pop();
  if (last === undefined) return !anchored || path.length === first.length;
  let at = first.length;
  for (const piece of pieces) {
    const found = path.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return anchored ? path.length - last.length >= at && path.endsWith(last) : path.includes(last, at);
}
