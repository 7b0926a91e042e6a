import { type Parsed, invalid, ok } from './field-fault.ts';

export interface CanonicalUrl {
  /** Absolute, http or https, without user, fragment and default port. */
  readonly url: string;
  /** Lower-cased ASCII host without port and without a final dot; IPv6 in brackets. */
  readonly hostname: string;
}

export const URL_BYTES_MAX = 8_192;
const HOST_CHARACTERS_MAX = 253;
const LABEL = /^(?!xn--$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
const CONTROL = /\p{Cc}/u;

/**
 * The one spelling of a URL that jobs are told apart by. The WHATWG parser (https://url.spec.whatwg.org/) folds
 * scheme and host, drops the default port and dot segments and writes hosts in ASCII; here the fragment and one
 * final dot of the host go as well. Path, query order and the case of escapes stay as given: servers tell them apart.
 *
 * Never throws. `field` is the name that a fault carries.
 */
export function canonicalUrl(input: unknown, field = 'url'): Parsed<CanonicalUrl> {
  if (typeof input !== 'string') return invalid(field, input, 'must be a string');
  if (input.length > URL_BYTES_MAX) return invalid(field, input, `must be at most ${URL_BYTES_MAX} bytes`);
  if (!input.isWellFormed() || input.includes('\uFFFD')) return invalid(field, input, 'must be valid UTF-8');
  // The parser would drop them silently, and two different lines of a file would become one job.
  if (CONTROL.test(input)) return invalid(field, input, 'must have no control characters');

  const parsed = URL.parse(input);
  if (parsed === null) return invalid(field, input, 'must be an absolute URL');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return invalid(field, input, 'must be an http or https URL');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return invalid(field, input, 'must have no user or password');
  }
  if (parsed.port === '0') return invalid(field, input, 'must have a port other than 0');

  const hostname = parsed.hostname.replace(/\.$/, '');
  if (!isHostname(hostname)) return invalid(field, input, 'must have a valid host name');
  parsed.hostname = hostname;
  parsed.hash = '';
  if (parsed.hostname !== hostname) return invalid(field, input, 'must have a valid host name');

  const url = parsed.href;
  if (Buffer.byteLength(url) > URL_BYTES_MAX) {
    return invalid(field, input, `must be at most ${URL_BYTES_MAX} bytes once escaped`);
  }
  return ok({ url, hostname });
}

/** RFC 1123 lengths, underscores allowed because such hosts exist. The URL parser checks none of this. */
function isHostname(hostname: string): boolean {
  if (hostname.startsWith('[')) return true;
  return hostname.length <= HOST_CHARACTERS_MAX && hostname.split('.').every((label) => LABEL.test(label));
}
