/** Names whose values are never shown, of headers, fields and query keys. */
const SECRET_NAME =
  /api[-_]?key|access[-_]?key|private[-_]?key|token|secret|passw|passphrase|authori[sz]ation|cookie|signature|credential|jwt|^(?:auth|pass|pwd)$/i;
/** In a query shorter names are secret as well. */
const SECRET_QUERY_KEY = /(?:^|[-_.])(?:key|auth|sig|sign|session|sessionid|sid|code|pin|otp)$|key$/i;
const SHOWN_INSTEAD = '[redacted]';

/** Something with a scheme, up to white space or a quote. */
const URL_LIKE = /[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'<>`]+/gi;
const PAIR = /([?&;#])([^=&;#\s"'<>]{1,128})=([^&;#\s"'<>]*)/g;
/** `authorization: Basic abc`, `"password":"abc"`, `x-api-key=abc` in running text. */
const NAMED =
  /\b((?:proxy-)?authorization|(?:set-)?cookie2?|x-api-key|api[-_]?key|access[-_]?token|password|passwd|secret)(["']?\s*[:=]\s*["']?)((?:basic|bearer|digest|negotiate)\s+)?[^\s"',;&]+/gi;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/**
 * Takes credentials out of text that is about to be logged or stored: user and password of anything that looks
 * like a URL, values of query keys with a secret's name, values of header names with one. Shows too little rather
 * than too much; the rest of the text stays as it is.
 */
export function redactText(text: string): string {
  return text
    .replaceAll(URL_LIKE, redactUserinfo)
    .replaceAll(PAIR, (pair, separator: string, name: string) =>
      isSecretName(decoded(name)) || SECRET_QUERY_KEY.test(decoded(name))
        ? `${separator}${name}=${SHOWN_INSTEAD}`
        : pair,
    )
    .replaceAll(NAMED, (_, name: string, between: string) => `${name}${between}${SHOWN_INSTEAD}`);
}

/** Text that no parser accepts (a password with a slash in it) hides all up to its last `@`. */
function redactUserinfo(url: string): string {
  const at = url.lastIndexOf('@');
  if (at < 0) return url;
  const start = url.indexOf('://') + 3;
  const parsed = URL.parse(url);
  if (parsed !== null && parsed.username === '' && parsed.password === '') {
    // `http://user:33/rest@host` parses with port 33. A host without a dot before an `@` is taken for a user's name.
    const looksLikeHost = parsed.hostname.includes('.') || parsed.hostname.startsWith('[');
    if (looksLikeHost || parsed.port === '') return url;
  }
  return `${url.slice(0, start)}${SHOWN_INSTEAD}${url.slice(at)}`;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
