/**
 * URLs in short: `https://x.example/{date}/page/{1..50}`.
 *
 * ```
 * template = *( text / "{date}" / "{" first ".." last [ ".." step ] "}" )
 * ```
 *
 * `first`, `last` and `step` are whole numbers of at most nine digits, counted upwards; a `first` with leading zeros
 * (`{001..120}`) pads all to its width. Several ranges multiply, the last one fastest. A brace that is meant as such
 * is written `%7B` or `%7D`.
 */
export interface UrlTemplate {
  /** URLs that it stands for. */
  readonly count: number;
  /** The URLs of a day, one after another: never all of them in memory. */
  readonly expand: (date: string) => Generator<string>;
}

export type ParsedTemplate =
  | { readonly kind: 'ok'; readonly template: UrlTemplate }
  | { readonly kind: 'invalid'; readonly rule: string };

interface Range {
  readonly first: number;
  readonly count: number;
  readonly step: number;
  readonly width: number;
}

/** URLs that the templates of one schedule may stand for. */
export const TEMPLATE_URLS_MAX = 100_000;
const PLACEHOLDER = /\{([^{}]*)\}/;
const RANGE = /^(\d{1,9})\.\.(\d{1,9})(?:\.\.(\d{1,9}))?$/;
const DATE = { date: true } as const;

export function parseUrlTemplate(text: string): ParsedTemplate {
  const pieces = text.split(PLACEHOLDER);
  const parts: (string | Range | typeof DATE)[] = [];
  let count = 1;
  for (const [index, piece] of pieces.entries()) {
    // Odd ones are what stood in braces.
    if (index % 2 === 0) {
      if (/[{}]/.test(piece))
        return invalid('has a brace without its other one; a brace itself is %7B or %7D');
      parts.push(piece);
    } else if (piece === 'date') parts.push(DATE);
    else {
      const range = rangeOf(piece);
      if (typeof range === 'string') return invalid(range);
      count *= range.count;
      if (count > TEMPLATE_URLS_MAX) return invalid(`stands for more than ${TEMPLATE_URLS_MAX} URLs`);
      parts.push(range);
    }
  }
  return { kind: 'ok', template: { count, expand: (date) => expand(parts, date) } };
}

function rangeOf(text: string): Range | string {
  const match = RANGE.exec(text);
  if (match === null) return `has {${text.slice(0, 40)}}; a placeholder is {date} or a range such as {1..50}`;
  const [, from = '', to = '', by = '1'] = match;
  const [first, last, step] = [Number(from), Number(to), Number(by)];
  if (last < first) return `has the range {${text}}, which must count upwards`;
  if (step === 0) return `has the range {${text}}, whose step must be 1 or more`;
  const width = from.length > 1 && from.startsWith('0') ? from.length : 0;
  return { first, step, width, count: Math.floor((last - first) / step) + 1 };
}

function* expand(parts: readonly (string | Range | typeof DATE)[], date: string): Generator<string> {
  const [part, ...rest] = parts;
  if (part === undefined) {
    yield '';
    return;
  }
  if (typeof part === 'string' || 'date' in part) {
    const head = typeof part === 'string' ? part : date;
    for (const tail of expand(rest, date)) yield head + tail;
    return;
  }
  for (let index = 0; index < part.count; index += 1) {
    const head = String(part.first + index * part.step).padStart(part.width, '0');
    for (const tail of expand(rest, date)) yield head + tail;
  }
}

function invalid(rule: string): ParsedTemplate {
  return { kind: 'invalid', rule };
}
