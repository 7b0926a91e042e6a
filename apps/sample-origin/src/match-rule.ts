import type { AnswerDescription, Rule } from './description.ts';

/** Where redirects lead to, unless they say otherwise: redirect rules for every path stop short of it. */
export const LANDED = '/landed/';

/** How often each rule has answered each path: a rule with `times` stands aside after that. */
export class RuleUses {
  readonly #uses = new Map<Rule, Map<string, number>>();

  /** Whether the rule may answer once more; if so it is counted. */
  take(rule: Rule, pathname: string): boolean {
    if (rule.times === undefined) return true;
    const paths = this.#uses.get(rule) ?? new Map<string, number>();
    this.#uses.set(rule, paths);
    const used = paths.get(pathname) ?? 0;
    if (used >= rule.times) return false;
    paths.set(pathname, used + 1);
    return true;
  }
}

/** Answers of the first rule that applies; a rule with a share takes one draw each time it is reached. */
export function matchRule(
  rules: readonly Rule[],
  request: { readonly pathname: string; readonly sinceStartMs: number; readonly beforeLimiter: boolean },
  draw: () => number,
  uses: RuleUses,
): AnswerDescription | null {
  for (const rule of rules) {
    if (rule.beforeLimiter !== request.beforeLimiter) continue;
    if (rule.path !== undefined && !pathMatches(rule.path, request.pathname)) continue;
    if (rule.answer.kind === 'redirect' && !rule.answer.loop && request.pathname.startsWith(LANDED)) continue;
    if (request.sinceStartMs < rule.fromMs) continue;
    if (rule.untilMs !== undefined && request.sinceStartMs >= rule.untilMs) continue;
    if (rule.share < 1 && draw() >= rule.share) continue;
    if (!uses.take(rule, request.pathname)) continue;
    return rule.answer;
  }
  return null;
}

function pathMatches(pattern: string, pathname: string): boolean {
  return pattern.endsWith('*') ? pathname.startsWith(pattern.slice(0, -1)) : pathname === pattern;
}
