import type { AnswerDescription, Rule } from './description.ts';

/** Where redirects lead to, unless they say otherwise: redirect rules for every path stop short of it. */
export const LANDED = '/landed/';

/** Answers of the first rule that applies; a rule with a share takes one draw each time it is reached. */
export function matchRule(
  rules: readonly Rule[],
  request: { readonly pathname: string; readonly sinceStartMs: number; readonly beforeLimiter: boolean },
  draw: () => number,
): AnswerDescription | null {
  for (const rule of rules) {
    if (rule.beforeLimiter !== request.beforeLimiter) continue;
    if (rule.path !== undefined && !pathMatches(rule.path, request.pathname)) continue;
    if (rule.answer.kind === 'redirect' && !rule.answer.loop && request.pathname.startsWith(LANDED)) continue;
    if (request.sinceStartMs < rule.fromMs) continue;
    if (rule.untilMs !== undefined && request.sinceStartMs >= rule.untilMs) continue;
    if (rule.share < 1 && draw() >= rule.share) continue;
    return rule.answer;
  }
  return null;
}

function pathMatches(pattern: string, pathname: string): boolean {
  return pattern.endsWith('*') ? pathname.startsWith(pattern.slice(0, -1)) : pathname === pattern;
}
