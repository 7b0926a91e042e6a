import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendPage } from './answers/page.ts';
import type { Surroundings } from './answers/redirect.ts';
import { writeAnswer } from './answers/write-answer.ts';
import { readMarks } from './client-marks.ts';
import type { AnswerDescription } from './description.ts';
import { Exchange, type HeaderLines } from './exchange.ts';
import { latencyMs } from './latency.ts';
import type { Verdict } from './limiters/limiter.ts';
import { matchRule } from './match-rule.ts';
import type { OriginHost } from './origin-host.ts';
import { rateHeaders } from './rate-headers.ts';
import type { RequestLog, SeenRequest } from './request-log.ts';
import { publishWait } from './retry-after-form.ts';

export interface RequestParts {
  readonly log: RequestLog;
  /** Called once for each exchange that has ended. */
  readonly ended: (entry: SeenRequest) => void;
  /** Monotonic, anchored to the wall clock: ms since the epoch, with fractions. */
  readonly nowMs: () => number;
  readonly draw: () => number;
  readonly around: Surroundings;
}

const ROBOTS: Extract<AnswerDescription, { kind: 'page' }> = {
  kind: 'page',
  status: 200,
  bytes: 0,
  contentType: 'text/plain; charset=utf-8',
  etag: false,
  cookies: [],
  headers: {},
  distinct: false,
};
const ROBOTS_MISSING: AnswerDescription = { kind: 'status', status: 404, headers: {} };

type Plan =
  | { readonly kind: 'refused'; readonly waitMs: number }
  | { readonly kind: 'rule'; readonly answer: AnswerDescription }
  | { readonly kind: 'page'; readonly rateHeaders: HeaderLines };

/** The story of one request: note it → ask the limiter → choose the answer → hold it back → send it. */
export function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  host: OriginHost,
  parts: RequestParts,
): void {
  const receivedAtMs = parts.nowMs();
  const target = request.url ?? '/';
  const mark = target.indexOf('?');
  const pathname = mark < 0 ? target : target.slice(0, mark);
  const query = mark < 0 ? '' : target.slice(mark + 1);

  const othersInFlight = host.inFlight;
  host.inFlight += 1;
  const marks = readMarks(request.headers, query);
  const entry = parts.log.receive({
    receivedAtMs,
    host: host.description.name,
    method: request.method ?? '',
    path: target,
    marks,
    inFlight: host.inFlight,
    receivedInCooldownMs: host.cooldowns.ageAt(receivedAtMs),
    admittedInCooldownMs: marks.admittedAtMs === null ? null : host.cooldowns.ageAt(marks.admittedAtMs),
  });
  host.counters.receive(entry);

  const plan = choose(host, pathname, receivedAtMs, parts);
  const letIn = plan.kind !== 'refused';
  if (letIn) host.admitted += 1;
  entry.answer = plan.kind === 'rule' ? plan.answer.kind : plan.kind;
  host.counters.answer(entry.answer);
  response.once('close', () => {
    host.inFlight -= 1;
    if (letIn) host.admitted -= 1;
    entry.end = response.writableFinished ? 'complete' : 'aborted';
    entry.endedAtMs = parts.nowMs();
    if (entry.end === 'aborted') host.counters.abort();
    parts.ended(entry);
  });

  const exchange = new Exchange({ request, response, host, entry, pathname, query, nowMs: parts.nowMs });
  const heldMs = latencyMs(host.description.latency, parts.draw(), othersInFlight);
  if (heldMs <= 0) {
    send(exchange, plan, parts);
    return;
  }
  const timer = setTimeout(() => send(exchange, plan, parts), heldMs);
  response.once('close', () => clearTimeout(timer));
}

function choose(host: OriginHost, pathname: string, nowMs: number, parts: RequestParts): Plan {
  const sinceStartMs = nowMs - host.startedAtMs;
  const early = matchRule(
    host.rules,
    { pathname, sinceStartMs, beforeLimiter: true },
    parts.draw,
    host.ruleUses,
  );
  if (early !== null) return { kind: 'rule', answer: early };

  const verdict: Verdict = host.limiter.take(sinceStartMs, host.admitted);
  if (verdict.kind === 'refused') return { kind: 'refused', waitMs: verdict.waitMs };

  const late = matchRule(
    host.rules,
    { pathname, sinceStartMs, beforeLimiter: false },
    parts.draw,
    host.ruleUses,
  );
  if (late !== null) return { kind: 'rule', answer: late };
  if (pathname === '/robots.txt') return { kind: 'rule', answer: robotsOf(host) };
  const wallMs = nowMs + host.description.clockOffsetMs;
  return { kind: 'page', rateHeaders: rateHeaders(host.description, verdict, wallMs) };
}

function send(exchange: Exchange, plan: Plan, parts: RequestParts): void {
  if (exchange.response.destroyed) return;
  switch (plan.kind) {
    case 'refused':
      return refuse(exchange, plan.waitMs);
    case 'rule':
      return writeAnswer(exchange, plan.answer, parts.around);
    case 'page':
      return sendPage(exchange, exchange.host.page, plan.rateHeaders);
  }
}

const REFUSED = Buffer.from('Too many requests.\n');

function refuse(exchange: Exchange, waitMs: number): void {
  const { status, retryAfter } = exchange.host.description.refusal;
  const published = publishWait(retryAfter, waitMs, exchange.hostNowMs());
  exchange.whole(status, [['Content-Type', 'text/plain'], ...published.headers], REFUSED, published.waitMs);
}

const robotsPages = new WeakMap<OriginHost, AnswerDescription>();

function robotsOf(host: OriginHost): AnswerDescription {
  const body = host.description.robots;
  if (body === undefined) return ROBOTS_MISSING;
  const known = robotsPages.get(host);
  if (known !== undefined) return known;
  const page: AnswerDescription = { ...ROBOTS, body };
  robotsPages.set(host, page);
  return page;
}
