import { ANSWER_ROWS, type AnswerRow, type AnswerSign, OTHER_ANSWER, type Route } from './answer-outcomes.ts';
import type { BodySigns } from './body-signs.ts';
import { FAULT_ROWS, type FaultPhase, type FaultRow, OTHER_FAULT } from './fault-outcomes.ts';
import type { Outcome } from './outcome.ts';
import { isQuotaSpent, readServerWait, type ResponseHead, type ResponseHeaders } from './read-server-wait.ts';
import { describeFault, describeStatus } from './describe-outcome.ts';

export { OUTCOME_CLASSES } from './outcome.ts';
export type { Outcome, OutcomeClass, ResponseSource } from './outcome.ts';

/** An answer whose headers arrived. */
export interface AnswerFacts extends ResponseHead {
  readonly route: Route;
  /** What the beginning of the body shows; null: it was not read. */
  readonly body: BodySigns | null;
}

/** An exchange that ended without a whole answer. */
export interface FaultFacts {
  /** The code of the innermost error that has one: Node's, OpenSSL's, got's, or one of ours. */
  readonly code: string;
  readonly phase: FaultPhase;
  readonly route: Route;
}

/**
 * Says how an answer ended its attempt: class, who answered, whether the job can go on. The rows of
 * {@link ANSWER_ROWS} decide. Never throws on any status or header.
 */
export function classifyAnswer(facts: AnswerFacts): Outcome {
  const signs = signsOf(facts);
  const status =
    Number.isInteger(facts.status) && facts.status >= 0 && facts.status <= 999 ? facts.status : 0;
  const row = ANSWER_ROWS.find((candidate) => answerMatches(candidate, status, signs)) ?? OTHER_ANSWER;
  return { class: row.class, source: row.source, stop: row.stop, detail: describeStatus(status, row.sign) };
}

/** Says how a failed exchange ended its attempt. The rows of {@link FAULT_ROWS} decide; any code has one. */
export function classifyFault(facts: FaultFacts): Outcome {
  const row = FAULT_ROWS.find((candidate) => faultMatches(candidate, facts)) ?? OTHER_FAULT;
  return { class: row.class, source: row.source, stop: row.stop, detail: describeFault(facts, row) };
}

function answerMatches(row: AnswerRow, status: number, signs: ReadonlySet<AnswerSign>): boolean {
  if (row.sign !== null && !signs.has(row.sign)) return false;
  return row.statuses.some(([from, to]) => status >= from && status <= to);
}

function faultMatches(row: FaultRow, { code, phase, route }: FaultFacts): boolean {
  if (row.proxied && route === 'direct') return false;
  if (row.phases !== null && !row.phases.includes(phase)) return false;
  return row.codes.some((pattern) =>
    pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern,
  );
}

function signsOf(facts: AnswerFacts): ReadonlySet<AnswerSign> {
  const signs = new Set<AnswerSign>();
  // Whether a wait is usable must not depend on the policy's parser: a 403 is a rate limit or it is not.
  const { wait } = readServerWait(facts, { parse: 'lenient', quirk: null });
  const isUsable = wait.kind === 'delay';
  if (isUsable) signs.add('usable_wait');
  if (isUsable || isQuotaSpent(facts) || facts.body?.rateLimited === true) signs.add('rate_limited');
  if (isChallenge(facts)) signs.add('challenge');
  if (isFromProxy(facts, isUsable)) signs.add('proxy_answered');
  return signs;
}

/** Headers by which protection services mark answers that are theirs and not the site's. */
const CHALLENGE_HEADERS: readonly (readonly [name: string, value: RegExp])[] = [
  ['cf-mitigated', /^challenge/iu],
  ['x-amzn-waf-action', /^(?:challenge|captcha)/iu],
  ['x-vercel-mitigated', /^(?:challenge|deny)/iu],
  ['x-sucuri-block', /./u],
];

function isChallenge({ status, headers, body }: AnswerFacts): boolean {
  if (CHALLENGE_HEADERS.some(([name, value]) => hasLine(headers, name, value))) return true;
  // On other statuses a page may well talk about challenges without being one.
  return body?.challenge === true && (status === 403 || status === 429 || status === 503);
}

/** Only an answer that the proxy could have written itself: what comes through a tunnel is the destination's. */
function isFromProxy({ status, headers, route }: AnswerFacts, isUsableWait: boolean): boolean {
  if (route === 'tunnel_setup') return true;
  if (route !== 'forward_proxy') return false;
  if (status === 407 || hasLine(headers, 'x-squid-error', /./u)) return true;
  if (status >= 500 && hasLine(headers, 'proxy-status', /;[ ]*error=/u)) return true;
  // A bad gateway that names a wait was thought about by the site; without one it is the proxy's own.
  return (status === 502 || status === 504) && !isUsableWait;
}

function hasLine(headers: ResponseHeaders, name: string, value: RegExp): boolean {
  return (headers[name] ?? []).some((line) => value.test(line));
}
