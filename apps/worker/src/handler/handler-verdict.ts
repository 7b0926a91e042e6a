import type { Listing } from '@holdoff/url-job';

/** What a handler made of a page, in a form that is safe to pass between threads. */
export type HandlerVerdict =
  | {
      readonly kind: 'useful';
      /** JSON text; null: no data. */
      readonly data: string | null;
      /** As the handler wrote them; not checked yet. */
      readonly follow: readonly string[];
      /** What those are, where they are no pages. */
      readonly followAs?: Listing;
    }
  | { readonly kind: 'not_useful'; readonly reason: string };

export type ReadVerdict = HandlerVerdict | { readonly kind: 'bad'; readonly fault: string };

export const DATA_BYTES_MAX = 256 * 1024;
export const FOLLOW_MAX_PER_PAGE = 100;
const FOLLOW_CHARACTERS_MAX = 8_192;
const REASON_CHARACTERS_MAX = 200;

/** Checks what a handler returned. Never throws, whatever it is. */
export function readVerdict(returned: unknown): ReadVerdict {
  try {
    return verdictOf(returned);
  } catch (error) {
    // A getter, a proxy or a `toJSON` of the user's threw.
    return bad(`what it returned cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function verdictOf(returned: unknown): ReadVerdict {
  if (typeof returned !== 'object' || returned === null)
    return bad(`it returned ${returned === null ? 'null' : `a value of type ${typeof returned}`}, no object`);
  const { kind, data, follow, reason } = returned as Record<string, unknown>;
  if (kind === 'not_useful') {
    if (reason !== undefined && typeof reason !== 'string') return bad('`reason` must be a string');
    return { kind, reason: (reason ?? '').slice(0, REASON_CHARACTERS_MAX) };
  }
  if (kind !== 'useful') return bad("`kind` must be 'useful' or 'not_useful'");

  const urls = follow ?? [];
  if (!Array.isArray(urls) || !urls.every((url) => typeof url === 'string'))
    return bad('`follow` must be an array of strings');
  if (urls.length > FOLLOW_MAX_PER_PAGE)
    return bad(`\`follow\` has ${urls.length} URLs, at most ${FOLLOW_MAX_PER_PAGE} are allowed`);
  if (urls.some((url) => url.length > FOLLOW_CHARACTERS_MAX))
    return bad(`\`follow\` has a URL of more than ${FOLLOW_CHARACTERS_MAX} characters`);
  if (data === undefined || data === null) return { kind, data: null, follow: [...urls] };

  const json = JSON.stringify(data) as string | undefined;
  if (json === undefined) return bad('`data` must be JSON');
  const dataBytes = Buffer.byteLength(json);
  if (dataBytes > DATA_BYTES_MAX)
    return bad(`\`data\` has ${dataBytes} bytes as JSON, at most ${DATA_BYTES_MAX} are allowed`);
  return { kind, data: json, follow: [...urls] };
}

function bad(fault: string): ReadVerdict {
  return { kind: 'bad', fault };
}
