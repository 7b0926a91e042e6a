import { z } from 'zod';
import type { PageExchange } from '../fetch-page.ts';
import { parseRobots } from './robots-rules.ts';

/** What is known about one origin's robots.txt. */
const schema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('rules'),
    rules: z.array(z.object({ allow: z.boolean(), pattern: z.string() })),
    crawlDelaySeconds: z.number().nullable(),
  }),
  /** There is none for us: everything is allowed (RFC 9309 §2.3.1.3). */
  z.object({ kind: z.literal('absent'), status: z.number() }),
  /** It exists or not, nobody can say: nothing is allowed (RFC 9309 §2.3.1.4). `tries`: how often it was asked for. */
  z.object({ kind: z.literal('unreachable'), detail: z.string(), tries: z.number() }),
]);

export type RobotsRecord = Readonly<z.infer<typeof schema>>;

export function decodeRecord(text: string): RobotsRecord | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    // Written by another version, or by nobody of ours: fetch it again.
    return undefined;
  }
}

/** RFC 9309 §2.3.1.2: at least five redirects are followed, whatever the policy says of pages. */
export const ROBOTS_HOPS_MAX = 5;

export type RobotsReading =
  | { readonly kind: 'record'; readonly record: RobotsRecord }
  | { readonly kind: 'hop'; readonly url: string }
  /** The page itself meets the same fate, and its own reason says more: nothing is kept. */
  | { readonly kind: 'same_fate' }
  /** Says nothing about the origin: cut off by us, or the proxy failed. */
  | { readonly kind: 'unknown' };

/** Reads the answer to a robots.txt request after `hops` redirects. */
export function readRobots(exchange: PageExchange, hops: number, productToken: string): RobotsReading {
  const { status, outcome, redirectTo } = exchange;
  if (outcome.source === 'proxy') return { kind: 'unknown' };
  if (status === 0) {
    if (outcome.stop !== null && hops === 0) return { kind: 'same_fate' };
    if (outcome.stop === null && outcome.class === 'neutral') return { kind: 'unknown' };
    return unreachable(outcome.detail);
  }
  if (redirectTo !== null) {
    return hops < ROBOTS_HOPS_MAX ? { kind: 'hop', url: redirectTo } : absent(status);
  }
  if (status >= 200 && status < 300) {
    const readable = outcome.class === 'served' && outcome.stop === null;
    if (!readable) return unreachable(outcome.detail);
    return { kind: 'record', record: { kind: 'rules', ...fresh(parseRobots(exchange.body, productToken)) } };
  }
  // A limit is not an answer about robots.txt, though its number is one of the 4xx: the host's cooldown says when
  // to ask again.
  if (outcome.class === 'throttled') return { kind: 'unknown' };
  if (status >= 500) return unreachable(outcome.detail);
  return absent(status);
}

function fresh(read: ReturnType<typeof parseRobots>): Omit<Extract<RobotsRecord, { kind: 'rules' }>, 'kind'> {
  return { rules: [...read.rules], crawlDelaySeconds: read.crawlDelaySeconds };
}

function unreachable(detail: string): RobotsReading {
  return { kind: 'record', record: { kind: 'unreachable', detail: detail.slice(0, 200), tries: 1 } };
}

function absent(status: number): RobotsReading {
  return { kind: 'record', record: { kind: 'absent', status } };
}
