import type { FetchFault } from '../fetch/fetch-fault.ts';

/**
 * Decides from the headers alone whether the body is worth reading. `allowed` holds media types (`text/html`) and
 * ranges (`text/*`, `*\/*`); empty allows everything. Every `Content-Type` line must pass: which of two a reader
 * would believe is unknown. No line at all passes only where everything does.
 */
export function contentTypeFault(
  allowed: readonly string[],
  lines: readonly string[],
): FetchFault | undefined {
  if (allowed.length === 0) return undefined;
  const types = lines.map(essence);
  if (types.length === 0) types.push('');
  const refused = types.find((type) => !allowed.some((range) => matches(range.toLowerCase(), type)));
  return refused === undefined
    ? undefined
    : {
        kind: 'bad_content',
        rule: 'content_type',
        detail: refused === '' ? 'no content type' : `content type ${JSON.stringify(refused.slice(0, 60))}`,
      };
}

/** `Text/HTML; charset=x` → `text/html` (RFC 9110 §8.3.1). */
function essence(line: string): string {
  return (line.split(';', 1)[0] ?? '').trim().toLowerCase();
}

function matches(range: string, type: string): boolean {
  if (range === '*/*') return true;
  return range.endsWith('/*') ? type.startsWith(range.slice(0, -1)) : type === range;
}
