const PATH_CHARACTERS_MAX = 300;
const KEYS_MAX = 20;
const KEY_CHARACTERS_MAX = 40;

/**
 * A URL as it may be logged: origin, path, and the names of its query keys. Never a value, a user, a password or a
 * fragment: which of them are secret only their owner knows. Bounded, whatever the URL's length.
 */
export function safeUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.host === '') return '[no URL]';
  const path = cut(url.pathname, PATH_CHARACTERS_MAX);
  const keys = [...new Set(url.searchParams.keys())];
  const shown = keys
    .slice(0, KEYS_MAX)
    .map((key) => cut(encodeURIComponent(key.toWellFormed()), KEY_CHARACTERS_MAX));
  const more = keys.length > KEYS_MAX ? '&…' : '';
  // Without an `=` a whole query can be a token: it is a key to the parser and nothing to us.
  const named = url.search.includes('=') ? `?${shown.join('&')}${more}` : '';
  return `${url.protocol}//${url.host}${path}${url.search === '' ? '' : named === '' ? '?…' : named}`;
}

function cut(text: string, charactersMax: number): string {
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}
