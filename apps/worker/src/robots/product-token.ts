/**
 * The name under which robots.txt files know a crawler: the product token of its User-Agent (RFC 9309 §2.2.1), which is
 * its leading letters, `_` and `-`. Crawlers that begin like a browser are named by what follows `compatible;`.
 * null: there is none.
 */
export function productTokenOf(userAgent: string): string | null {
  const compatible = /\bcompatible;\s*([A-Za-z_-]+)/iu.exec(userAgent)?.[1];
  return compatible ?? /^[A-Za-z_-]+/u.exec(userAgent)?.[0] ?? null;
}
