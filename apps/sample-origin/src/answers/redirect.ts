import type { AnswerDescription } from '../description.ts';
import { LANDED } from '../match-rule.ts';
import type { Exchange, HeaderLines } from '../exchange.ts';

/** What a redirect needs to know of the other hosts. */
export interface Surroundings {
  readonly urlOf: (hostName: string) => string;
}

type Redirect = Extract<AnswerDescription, { kind: 'redirect' }>;

/** Sends the next hop. The hops taken so far stand in the query, so the origin need not remember its clients. */
export function sendRedirect(exchange: Exchange, redirect: Redirect, around: Surroundings): void {
  const headers: HeaderLines = [
    ['Location', nextLocation(exchange.pathname, exchange.query, redirect, around, exchange.host.url)],
    ['Content-Type', 'text/plain'],
  ];
  const body = Buffer.from('moved\n');
  if (redirect.retryAfterSeconds === undefined) return exchange.whole(redirect.status, headers, body);
  const hinted: HeaderLines = [...headers, ['Retry-After', String(redirect.retryAfterSeconds)]];
  return exchange.whole(redirect.status, hinted, body, redirect.retryAfterSeconds * 1000);
}

function nextLocation(
  pathname: string,
  query: string,
  redirect: Redirect,
  around: Surroundings,
  ownUrl: string,
): string {
  const parameters = new URLSearchParams(query);
  const taken = Math.max(0, Math.min(1_000, Number.parseInt(parameters.get('hop') ?? '0', 10) || 0));
  const last = taken + 1 >= redirect.hops;
  if (!last || redirect.loop) {
    parameters.set('hop', String(last ? 0 : taken + 1));
    return `${pathname}?${parameters.toString()}`;
  }
  parameters.delete('hop');
  const target = redirect.toHost === undefined ? ownUrl : around.urlOf(redirect.toHost);
  const rest = parameters.size === 0 ? '' : `?${parameters.toString()}`;
  return `${target}${redirect.toPath ?? `${LANDED}${pathname.slice(1)}`}${rest}`;
}
