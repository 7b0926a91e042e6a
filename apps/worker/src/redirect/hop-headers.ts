/** What another origin may learn about us: who asks, and what we can read. */
export const SENT_TO_ANY_ORIGIN: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'from',
  'user-agent',
]);

/** They speak of the page that was asked for, not of the one it leads to. */
const OF_ONE_PAGE: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'referer',
]);

/**
 * The headers of a redirect target, from the headers meant for the job's own URL. By allow-list: an API key under a
 * name nobody thought of must not reach whoever the redirect leads to. The job's origin is what counts, so a
 * chain that comes back to it gets its headers again, and one that was parked in between needs no memory.
 */
export function hopHeaders(
  headers: Readonly<Record<string, string>>,
  jobUrl: string,
  hopUrl: string,
): Readonly<Record<string, string>> {
  const sameOrigin = new URL(jobUrl).origin === new URL(hopUrl).origin;
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => {
      const lower = name.toLowerCase();
      return sameOrigin ? !OF_ONE_PAGE.has(lower) : SENT_TO_ANY_ORIGIN.has(lower);
    }),
  );
}
