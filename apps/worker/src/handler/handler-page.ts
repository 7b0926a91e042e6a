import { TextDecoder } from 'node:util';

/** A page as it travels to a handler thread. */
export interface HandlerPage {
  readonly url: string;
  readonly finalUrl: string;
  readonly status: number;
  /** Lower-cased names; repeated lines joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string | null;
  /** Decoded bytes. */
  readonly body: Uint8Array;
}

/** What the user's function gets. */
export interface HandlerInput extends HandlerPage {
  /** The body as text, in the character set that the answer or the page names, else UTF-8. */
  readonly text: () => string;
}

export function handlerInput(page: HandlerPage): HandlerInput {
  return { ...page, text: () => pageText(page) };
}

/** Where a page may name its own character set (https://html.spec.whatwg.org/#determining-the-character-encoding). */
const META_BYTES = 1_024;
const META_CHARSET = /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]{1,40})/iu;
const HEADER_CHARSET = /;\s*charset\s*=\s*"?\s*([\w:.-]{1,40})/iu;

function pageText({ body, contentType }: HandlerPage): string {
  const head = Buffer.from(body.subarray(0, META_BYTES)).toString('latin1');
  const named = markOf(body) ?? HEADER_CHARSET.exec(contentType ?? '')?.[1] ?? META_CHARSET.exec(head)?.[1];
  return decoderFor(named ?? 'utf-8').decode(body);
}

/** A byte order mark wins over what anybody says. */
function markOf(body: Uint8Array): string | undefined {
  if (body[0] === 0xfe && body[1] === 0xff) return 'utf-16be';
  if (body[0] === 0xff && body[1] === 0xfe) return 'utf-16le';
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 'utf-8' : undefined;
}

function decoderFor(label: string): TextDecoder {
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}
