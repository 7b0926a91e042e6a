import { createHash } from 'node:crypto';
import type { StopReason } from '@holdoff/throttle-core';

/** Where an attempt is in its chain of redirects. */
export interface HopPosition {
  readonly url: string;
  /** Redirects followed so far. */
  readonly hops: number;
  /** Fingerprints of the URLs asked so far, this one included: bounded, whatever the length of the URLs. */
  readonly visited: readonly string[];
}

export type HopVerdict =
  | { readonly kind: 'hop'; readonly next: HopPosition }
  | { readonly kind: 'stop'; readonly reason: StopReason; readonly detail: string };

/**
 * Judges the target of a redirect: a URL that was asked before, more hops than the policy follows, or a step
 * from https down to http ends the job; whether the target may be fetched at all is for the URL check.
 */
export function nextHop(from: HopPosition, to: string, hopsMax: number): HopVerdict {
  const fingerprint = urlFingerprint(to);
  const hops = from.hops + 1;
  if (from.visited.includes(fingerprint)) {
    return { kind: 'stop', reason: 'redirect_loop', detail: 'the redirects lead back to a URL asked before' };
  }
  if (hops > hopsMax) {
    return { kind: 'stop', reason: 'redirect_loop', detail: `more than ${hopsMax} redirects` };
  }
  if (isSecure(from.url) && !isSecure(to)) {
    return { kind: 'stop', reason: 'invalid_url', detail: 'the redirect leads from https down to http' };
  }
  return { kind: 'hop', next: { url: to, hops, visited: [...from.visited, fingerprint] } };
}

/**
 * The same for spellings that mean the same URL (RFC 3986 §6.2.2): percent escapes in either case, and unreserved
 * characters with or without one. Some servers redirect from one spelling to the other and back.
 */
export function urlFingerprint(url: string): string {
  const folded = url.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  });
  return createHash('sha256').update(folded).digest('base64url').slice(0, 16);
}

function isSecure(url: string): boolean {
  return url.startsWith('https:');
}
