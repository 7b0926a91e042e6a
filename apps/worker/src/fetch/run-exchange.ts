import { performance } from 'node:perf_hooks';
import type { Outcome } from '@holdoff/throttle-core';
import { contentTypeFault } from '../decode/content-type.ts';
import { ACCEPT_ENCODING, readContentCoding, transferCodingFault } from '../decode/content-coding.ts';
import type { PageRequest } from '../fetch-page.ts';
import { type Exit, routeOf } from '../guard/exit.ts';
import { type LocationReading, readLocation } from '../redirect/location.ts';
import type { AttemptBudget } from './attempt-budget.ts';
import { outcomeOfAnswer, outcomeOfFault } from './classify-exchange.ts';
import type { FetchFault } from './fetch-fault.ts';
import { glanceBody } from './glance-body.ts';
import { readBody } from './read-body.ts';
import { headBytes, headerLines } from './response-headers.ts';
import { type Answer, type NoAnswer, sendRequest } from './send-request.ts';

export interface Answered {
  readonly kind: 'answered';
  readonly outcome: Outcome;
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly receivedAtMs: number;
  readonly body: Uint8Array;
  readonly bodyState: 'complete' | 'unknown' | 'truncated' | 'none';
  readonly wireBytes: number;
  readonly latencyMs: number;
  readonly redirectTo: string | null;
}

export interface Failed {
  readonly kind: 'failed';
  readonly fault: FetchFault;
  readonly sent: boolean;
}

/** Sends the request and takes the answer apart. Whatever happens, the socket is back in its pool or closed at the end. */
export async function runExchange(
  request: PageRequest,
  url: URL,
  userAgent: string,
  exit: Exit,
  budget: AttemptBudget,
): Promise<Answered | Failed> {
  const wire = {
    url,
    method: request.method,
    headers: {
      'user-agent': userAgent,
      'accept-encoding': ACCEPT_ENCODING,
      accept: '*/*',
      ...request.headers,
    },
    headerBytesMax: request.body.headerBytesMax,
  };
  const route = routeOf(exit, url);
  if (route !== 'direct') budget.phase = 'proxy';
  const startedAt = performance.now();
  const first = await sendRequest(wire, exit.pooled, startedAt, budget);
  // An idle socket's closing crossed our request: the server has answered nobody. GET and HEAD may go again at
  // once (RFC 9112 §9.3.1), over a socket that cannot be stale.
  const reply =
    isStale(first) && budget.ended === undefined
      ? await sendRequest(wire, exit.fresh, startedAt, budget)
      : first;
  if (reply.kind === 'no_answer') return { kind: 'failed', fault: reply.fault, sent: reply.sent };
  return takeApart(request, url, reply, route, budget);
}

function isStale(reply: Answer | NoAnswer): boolean {
  return reply.kind === 'no_answer' && reply.staleSocket;
}

async function takeApart(
  request: PageRequest,
  url: URL,
  answer: Answer,
  route: Exit['plainRoute'],
  budget: AttemptBudget,
): Promise<Answered> {
  const status = answer.response.statusCode ?? 0;
  const headers = headerLines(answer.response.rawHeaders);
  const head = {
    kind: 'answered' as const,
    status,
    headers,
    receivedAtMs: answer.receivedAtMs,
    latencyMs: answer.latencyMs,
  };
  const headSize = headBytes(answer.response.rawHeaders);
  const location = readLocation(status, headers['location'] ?? [], url.href);
  const redirectTo = location.kind === 'target' ? location.url : null;
  const unread = async (fault: FetchFault | null): Promise<Answered> => {
    const { signs, wireBytes } = await glanceBody(answer, budget);
    const outcome = fault === null ? outcomeOfAnswer(head, signs, route) : outcomeOfFault(fault, route);
    return {
      ...head,
      outcome,
      body: NOTHING,
      bodyState: 'none',
      wireBytes: headSize + wireBytes,
      redirectTo,
    };
  };

  if (location.kind === 'unreadable') {
    // The host answers, and counts as served; it is the job that has nowhere to go.
    const answered = await unread(null);
    return { ...answered, outcome: { ...answered.outcome, ...UNREADABLE_LOCATION } };
  }
  if (isNoPage(request, status, location)) return unread(noPage(status));
  if (!isPage(request.method, status)) return unread(null);
  const plan = bodyPlan(request, status, headers);
  if (typeof plan !== 'string') return unread(plan);

  const { wireBytesMax, decodedBytesMax, ratioMax } = request.body;
  const limits = { wireBytesMax, decodedBytesMax, ratioMax, overflow: request.overflow ?? 'refuse' };
  const read = await readBody(answer, plan, limits, budget);
  return {
    ...head,
    outcome:
      read.fault === undefined ? outcomeOfAnswer(head, null, route) : outcomeOfFault(read.fault, route),
    body: read.body,
    bodyState: read.state,
    wireBytes: headSize + read.wireBytes,
    redirectTo,
  };
}

const UNREADABLE_LOCATION = {
  stop: 'invalid_url',
  detail: 'redirect to an unreadable location',
} as const;

/**
 * An answer below 400 that has neither a page nor a way to one: a redirect without a target, a choice, and "not
 * modified" for a request that set no condition. Taken for done it would be a result without anything in it.
 */
function isNoPage(request: PageRequest, status: number, location: LocationReading): boolean {
  if (status === 304) return !Object.keys(request.headers).some((name) => CONDITIONS.has(name.toLowerCase()));
  return status >= 300 && status < 400 && location.kind !== 'target';
}

const CONDITIONS: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
]);

function noPage(status: number): FetchFault {
  const detail =
    status === 304 ? '304 for a request without a condition' : `${status} without a page or a way to one`;
  return { kind: 'bad_content', rule: 'no_page', detail };
}

const NOTHING = new Uint8Array(0);

/** Only a successful GET has a body anybody reads: errors are known by their head (RFC 9110 §6.4.1, §15.3.5–6). */
function isPage(method: 'GET' | 'HEAD', status: number): boolean {
  return method === 'GET' && status >= 200 && status < 300 && status !== 204 && status !== 205;
}

function bodyPlan(
  request: PageRequest,
  status: number,
  headers: Readonly<Record<string, readonly string[]>>,
): ReturnType<typeof readContentCoding> {
  if (status === 206) {
    return {
      kind: 'bad_content',
      rule: 'partial',
      detail: '206 for a request without Range: a part of the page',
    };
  }
  return (
    contentTypeFault(request.body.contentTypes, headers['content-type'] ?? []) ??
    transferCodingFault(headers['transfer-encoding'] ?? []) ??
    readContentCoding(headers['content-encoding'] ?? [])
  );
}
