/** The spelling of a host that everything is keyed by: the URL parser's ASCII host without one final dot. */
export function canonicalHost(hostname: string): string {
  return hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
}

/** Which hosts an entry of a policy file is for. */
export type HostPattern =
  | { readonly kind: 'exact'; readonly host: string }
  /** Every name under it, not the name itself: `*.shop.test` is `.shop.test` here. */
  | { readonly kind: 'suffix'; readonly suffix: string };

/** What may be written, for messages. */
export const HOST_PATTERN_FORM = 'a hostname without scheme, port and path, or *. and a hostname';

/** Reads `shop.test`, `bücher.test`, `[::1]` or `*.shop.test`; undefined: neither a host nor a suffix. */
export function readHostPattern(written: string): HostPattern | undefined {
  const isSuffix = written.startsWith('*.');
  const host = readHost(isSuffix ? written.slice(2) : written);
  if (host === undefined) return undefined;
  return isSuffix ? { kind: 'suffix', suffix: `.${host}` } : { kind: 'exact', host };
}

/** The same spelling for every entry of the same hosts, so that duplicates are seen. */
export function printHostPattern(pattern: HostPattern): string {
  return pattern.kind === 'exact' ? pattern.host : `*${pattern.suffix}`;
}

function readHost(written: string): string | undefined {
  const isIpv6 = /^\[[0-9a-fA-F:.]+\]$/.test(written);
  // What the URL parser would take for userinfo, port, path or query, or silently drop, is not a hostname.
  if (!isIpv6 && (written.length > 253 || /[\s/\\?#@:%*[\]{}]/.test(written))) return undefined;
  if (!URL.canParse(`http://${written}/`)) return undefined;
  const host = canonicalHost(new URL(`http://${written}/`).hostname);
  return host === '' ? undefined : host;
}
