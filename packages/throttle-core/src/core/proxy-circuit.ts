import type { CircuitRules } from './circuit.ts';
import type { HostKey } from './identifiers.ts';

/**
 * A proxy is a scope of the gate by itself, under `proxy:NAME`: its failures close it to the whole fleet, and never the
 * hosts behind it. Failures in a row are counted in points, because they do not all say the same: a proxy that is not
 * there fails everybody, one that cannot reach a destination may be right about the destination.
 */
export const PROXY_CIRCUIT: CircuitRules = {
  responsesMax: 25,
  eventsMax: 0,
  openMs: 30_000,
  growth: 2,
  openMostMs: 600_000,
};

/** Points of one failure: so many in a row open the circuit. */
export const PROXY_FAILURE_POINTS = {
  /** Wrong or missing credentials: nobody gets through. Opens at once. */
  credentials: 25,
  /** Not there, too slow, closed, nonsense, out of service. Five in a row. */
  proxy: 5,
  /** It says that the destination cannot be reached (502, 504, SOCKS replies 3 to 6). Twenty-five in a row. */
  destination: 1,
} as const;
export type ProxyFailure = keyof typeof PROXY_FAILURE_POINTS;

/** Waiting jobs that are told to come at once when the proxy is back; each that passes calls the next. */
export const PROXY_CALLS_MOST = 16;
export const PROXY_KEPT_MS = 86_400_000;

const PREFIX = 'proxy:';

/** No host name has a colon outside brackets. */
export function proxyScope(proxy: string): HostKey {
  return `${PREFIX}${proxy}` as HostKey;
}

/** The proxy of a scope; null: it is a host's. */
export function proxyOfScope(scope: HostKey): string | null {
  return scope.startsWith(PREFIX) ? scope.slice(PREFIX.length) : null;
}

const THROUGH = ':via:';

/** A host as seen through one exit, for policies that limit each exit by itself. */
export function hostKeyThrough(host: HostKey, proxy: string): HostKey {
  return `${host}${THROUGH}${proxy}` as HostKey;
}

/** The host of a scope, and the exit if it is one of `hostKeyThrough`. */
export function hostOfScope(scope: HostKey): { readonly host: HostKey; readonly proxy: string | null } {
  const at = scope.lastIndexOf(THROUGH);
  if (at === -1) return { host: scope, proxy: null };
  return { host: scope.slice(0, at) as HostKey, proxy: scope.slice(at + THROUGH.length) };
}
