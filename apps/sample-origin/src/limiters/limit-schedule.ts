/** From `atMs` after the start on, the limit is `factor` times what the description says. */
export interface LimitChange {
  readonly atMs: number;
  readonly factor: number;
}

/** The factor in force at an instant. Changes are in order of time. */
export function factorAt(changes: readonly LimitChange[], nowMs: number): number {
  let factor = 1;
  for (const change of changes) {
    if (change.atMs > nowMs) break;
    factor = change.factor;
  }
  return factor;
}

/** Integral of the factor over [fromMs, toMs], in ms: an unchanged second gives 1000. */
export function factorSum(changes: readonly LimitChange[], fromMs: number, toMs: number): number {
  let sum = 0;
  let at = fromMs;
  let factor = factorAt(changes, fromMs);
  for (const change of changes) {
    if (change.atMs <= fromMs) continue;
    if (change.atMs >= toMs) break;
    sum += factor * (change.atMs - at);
    at = change.atMs;
    factor = change.factor;
  }
  return sum + factor * (Math.max(toMs, at) - at);
}

/** The first instant at which the integral from `fromMs` reaches `sum`. Factors are above zero, so there is one. */
export function instantOfSum(changes: readonly LimitChange[], fromMs: number, sum: number): number {
  let left = sum;
  let at = fromMs;
  let factor = factorAt(changes, fromMs);
  for (const change of changes) {
    if (change.atMs <= fromMs) continue;
    const whole = factor * (change.atMs - at);
    if (whole >= left) break;
    left -= whole;
    at = change.atMs;
    factor = change.factor;
  }
  return at + left / factor;
}

/** A count that the schedule scales: whole, and never so small that the host is shut for good. */
export function scaledCount(count: number, factor: number): number {
  return Math.max(1, Math.round(count * factor));
}
