import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';
import type { StopReason } from '@holdoff/throttle-core';
import type { AddressGuard } from './address-guard.ts';

export const URL_RULES = ['too_long', 'syntax', 'scheme', 'userinfo', 'host', 'port', 'address'] as const;
export type UrlRule = (typeof URL_RULES)[number];

export type UrlVerdict =
  | {
      readonly kind: 'ok';
      /** Canonical, without fragment. */
      readonly url: URL;
      /** Host name or address for the socket: no brackets. */
      readonly hostname: string;
      readonly port: number;
    }
  | {
      readonly kind: 'refused';
      readonly rule: UrlRule;
      readonly stop: Extract<StopReason, 'invalid_url' | 'address_not_allowed'>;
      readonly detail: string;
    };

export const URL_BYTES_MAX = 8_192;

/**
 * Everything about a URL that can be judged without the network. Called for the job's URL and for every redirect
 * target. The raw text is never compared with anything: the URL parser turns `0x7f.1`, `2130706433` and fullwidth
 * digits into `127.0.0.1` first, and its own output is parsed once more so that both ends agree on the host.
 */
export function checkUrl(text: string, guard: AddressGuard): UrlVerdict {
  if (Buffer.byteLength(text) > URL_BYTES_MAX) {
    return refuse('too_long', `URL is longer than ${URL_BYTES_MAX} bytes`);
  }
  const url = parseTwice(text);
  if (url === undefined) return refuse('syntax', 'not a valid absolute URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return refuse('scheme', `scheme ${url.protocol.slice(0, 20)} is not http or https`);
  }
  if (url.username !== '' || url.password !== '') return refuse('userinfo', 'URL carries a user name');
  url.hash = '';
  if (Buffer.byteLength(url.href) > URL_BYTES_MAX) {
    return refuse('too_long', `URL is longer than ${URL_BYTES_MAX} bytes once encoded`);
  }
  const hostname = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  const literal = isIP(hostname) !== 0;
  if (!literal) {
    const fault = hostFault(hostname);
    if (fault !== undefined) return refuse('host', fault);
  }
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (literal) {
    const refusal = guard.refusal(hostname, port, hostname);
    if (refusal !== undefined) return refuse(refusal.rule, refusal.detail);
  } else if (!guard.portPossible(port, hostname)) {
    return refuse('port', `port ${port} is not in the list of allowed ports`);
  }
  return { kind: 'ok', url, hostname, port };
}

function parseTwice(text: string): URL | undefined {
  const first = URL.parse(text);
  if (first === null) return undefined;
  const second = URL.parse(first.href);
  return second !== null && second.href === first.href ? second : undefined;
}

/** The grammar of names that DNS can hold (RFC 1035 lengths), with the underscore that real hosts use. */
function hostFault(hostname: string): string | undefined {
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (name.length === 0 || name.length > 253) return 'host name is empty or longer than 253 characters';
  // The HTTP client reads this name as the start of a socket path.
  if (name === 'unix') return 'host name `unix` stands for a socket path';
  for (const label of name.split('.')) {
    if (label.length === 0) return 'host name has an empty label';
    if (label.length > 63) return 'host name has a label longer than 63 characters';
    if (!/^[a-z0-9_-]+$/u.test(label)) return 'host name has characters that no DNS name has';
    if (label.startsWith('xn--') && !isIdnLabel(label))
      return 'host name has a broken internationalised label';
  }
  return undefined;
}

function isIdnLabel(label: string): boolean {
  const unicode = domainToUnicode(label);
  return unicode !== '' && unicode !== label && domainToASCII(unicode) === label;
}

export function stopOfRule(rule: UrlRule): 'invalid_url' | 'address_not_allowed' {
  return rule === 'address' || rule === 'port' ? 'address_not_allowed' : 'invalid_url';
}

function refuse(rule: UrlRule, detail: string): UrlVerdict {
  return { kind: 'refused', rule, stop: stopOfRule(rule), detail };
}
