/** Statuses whose `Location` is the next hop (RFC 9110 §15.4). 300 offers a choice and 304 is no redirect. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export type LocationReading =
  /** Not an answer that sends anybody anywhere. */
  | { readonly kind: 'none' }
  | { readonly kind: 'target'; readonly url: string }
  /** It is, and says nowhere to go. */
  | { readonly kind: 'missing' }
  /** No URL, or one with a user name: credentials that a server hands out are kept nowhere. */
  | { readonly kind: 'unreadable' };

/**
 * Where an answer sends us on, as an absolute URL without fragment. `Location` reaches us as Latin-1 text; each
 * byte beyond ASCII is percent-encoded as the byte it was, so the server gets back what it sent. Re-reading it as
 * characters would produce another path, which such servers answer with the next redirect, for ever.
 */
export function readLocation(status: number, lines: readonly string[], from: string): LocationReading {
  const [line] = lines;
  if (!REDIRECTS.has(status)) return { kind: 'none' };
  if (line === undefined || line.trim() === '') return { kind: 'missing' };
  const ascii = line.replace(/[\u0080-\u00ff]/gu, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  const url = URL.parse(ascii, from);
  if (url === null || url.username !== '' || url.password !== '') return { kind: 'unreadable' };
  url.hash = '';
  return { kind: 'target', url: url.href };
}
