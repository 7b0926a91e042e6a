import { backoffWindowMs } from '../core/backoff.ts';
import { PRESETS } from '../core/presets.ts';
import { planSimulated, secondsWait } from './simulated-plan.ts';

const REFUSES_FOR_MS = 30_000;
const EXTENDS_BY_MS = 60_000;
const HITS_MAX = 100;

/** Refuses for 30 s from its first answer on; every hit before the end moves it to one minute after the hit. */
class ExtendingHost {
  #untilMs = REFUSES_FOR_MS;

  /** Seconds to wait; 0: served. */
  hit(atMs: number): number {
    if (atMs >= this.#untilMs) return 0;
    if (atMs > 0) this.#untilMs = atMs + EXTENDS_BY_MS;
    return Math.ceil((this.#untilMs - atMs) / 1000);
  }
}

export interface LadderResult {
  readonly refusals: number;
  /** When the page was served. */
  readonly servedAtMs: number;
}

/** Exponential back-off of 2, 4, 8, … s that does not read the header: each rung trips the limit again. */
export function climbLadder(): LadderResult {
  return askUntilServed(
    (refusals, nowMs) => nowMs + backoffWindowMs(refusals, { kind: 'full', baseMs: 2000, capMs: 64_000 }),
  );
}

/** The planner under the default policy, which reads the header. */
export function obeyHeader(draw01: number): LadderResult {
  return askUntilServed((refusals, nowMs, seconds) => {
    const { notBeforeMs } = planSimulated({
      policy: PRESETS.balanced,
      outcome: 'throttled',
      wait: secondsWait(seconds),
      nowMs,
      draw01,
      job: { attempts: refusals, throttledInRun: refusals - 1 },
    });
    return notBeforeMs ?? Number.POSITIVE_INFINITY;
  });
}

function askUntilServed(nextMs: (refusals: number, nowMs: number, seconds: number) => number): LadderResult {
  const host = new ExtendingHost();
  let nowMs = 0;
  for (let refusals = 0; refusals < HITS_MAX;) {
    const seconds = host.hit(nowMs);
    if (seconds === 0) return { refusals, servedAtMs: nowMs };
    refusals += 1;
    nowMs = nextMs(refusals, nowMs, seconds);
  }
  throw new Error(`not served within ${HITS_MAX} requests`);
}
