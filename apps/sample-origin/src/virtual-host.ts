import type { AnswerDescription, HostDescription } from './description.ts';
import type { HeaderLines } from './exchange.ts';
import { latencyMs } from './latency.ts';
import { buildLimiter, limitPerSecond } from './limiters/build-limiter.ts';
import { RuleUses, matchRule } from './match-rule.ts';
import { rateHeaders } from './rate-headers.ts';
import { publishWait } from './retry-after-form.ts';

/** A described host without sockets, for playing it in virtual time: the same limiter, rules, waits and delays. */
export interface VirtualHost {
  /** Instants are ms since the start and never go back. */
  answer(arrivedAtMs: number): VirtualAnswer;
  ended(answer: Pick<VirtualAnswer, 'letIn'>): void;
  /** Averaged over a time; null: no rate limits it. */
  limitPerSecond(fromMs: number, toMs: number): number | null;
}

export interface VirtualAnswer {
  /** 0: no whole answer came, see `fault`. */
  readonly status: number;
  /** Lower-cased names. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly latencyMs: number;
  readonly fault: string | null;
  /** The wait that the answer published; null: none. */
  readonly publishedWaitMs: number | null;
  readonly letIn: boolean;
}

/** How long a client waits for what never comes; longer than any attempt's budget. */
const NEVER_MS = 86_400_000;
const NO_HEADERS: VirtualAnswer['headers'] = {};

type Core = Omit<VirtualAnswer, 'latencyMs' | 'letIn'>;

/**
 * `draw` feeds shares and latencies. `epochMs` is instant 0 on the host's wall clock.
 *
 * @throws Error when a rule's answer cannot be played without sockets.
 */
export function createVirtualHost(
  description: HostDescription,
  options: { readonly draw: () => number; readonly epochMs: number },
): VirtualHost {
  const { draw } = options;
  for (const rule of description.rules) {
    // All URLs are one here, so a rule about single URLs would answer none or all of them.
    if (rule.path !== undefined || rule.times !== undefined) {
      throw new Error(`host ${description.name}: a rule with path or times cannot be played in virtual time`);
    }
    playable(rule.answer, description.name);
  }
  const uses = new RuleUses();
  const limiter = buildLimiter(description.limiter);
  const epochMs = options.epochMs + description.clockOffsetMs;
  const page: Core = { ...NOTHING, status: description.page.status };
  let inFlight = 0;
  let admitted = 0;

  const choose = (nowMs: number): { readonly core: Core; readonly letIn: boolean } => {
    const request = { pathname: '/', sinceStartMs: nowMs };
    const early = matchRule(description.rules, { ...request, beforeLimiter: true }, draw, uses);
    if (early !== null) return { core: playable(early, description.name), letIn: true };
    const verdict = limiter.take(nowMs, admitted);
    if (verdict.kind === 'refused') {
      const { status, retryAfter } = description.refusal;
      const { headers, waitMs } = publishWait(retryAfter, verdict.waitMs, epochMs + nowMs);
      return {
        core: { ...NOTHING, status, headers: byName(headers), publishedWaitMs: waitMs },
        letIn: false,
      };
    }
    const late = matchRule(description.rules, { ...request, beforeLimiter: false }, draw, uses);
    if (late !== null) return { core: playable(late, description.name), letIn: true };
    if (description.advertise === 'none') return { core: page, letIn: true };
    return {
      core: { ...page, headers: byName(rateHeaders(description, verdict, epochMs + nowMs)) },
      letIn: true,
    };
  };

  return {
    answer: (arrivedAtMs) => {
      const { core, letIn } = choose(arrivedAtMs);
      const heldMs = latencyMs(description.latency, draw(), inFlight);
      inFlight += 1;
      if (letIn) admitted += 1;
      return { ...core, latencyMs: core.fault === 'ETIMEDOUT' ? NEVER_MS : heldMs, letIn };
    },
    ended: ({ letIn }) => {
      inFlight -= 1;
      if (letIn) admitted -= 1;
    },
    limitPerSecond: (fromMs, toMs) => limitPerSecond(description.limiter, fromMs, toMs),
  };
}

const NOTHING: Core = { status: 0, headers: NO_HEADERS, fault: null, publishedWaitMs: null };

function playable(answer: AnswerDescription, host: string): Core {
  switch (answer.kind) {
    case 'page':
      return { ...NOTHING, status: answer.status };
    case 'status': {
      if (answer.retryAfterSeconds === undefined) return { ...NOTHING, status: answer.status };
      const headers = { 'retry-after': [String(answer.retryAfterSeconds)] };
      return { ...NOTHING, status: answer.status, headers, publishedWaitMs: answer.retryAfterSeconds * 1000 };
    }
    case 'challenge':
      return { ...NOTHING, status: 403, headers: { 'cf-mitigated': ['challenge'] } };
    case 'reset':
      return { ...NOTHING, fault: 'ECONNRESET' };
    case 'never':
      return { ...NOTHING, fault: 'ETIMEDOUT' };
    default:
      throw new Error(`host ${host}: an answer of kind ${answer.kind} cannot be played in virtual time`);
  }
}

function byName(lines: HeaderLines): VirtualAnswer['headers'] {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of lines) (headers[name.toLowerCase()] ??= []).push(value);
  return headers;
}
