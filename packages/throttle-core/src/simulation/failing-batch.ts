import { PRESETS } from '../core/presets.ts';
import type { StopReason } from '../core/stop-reason.ts';
import { planSimulated, secondsWait } from './simulated-plan.ts';

export interface BatchResult {
  readonly attempts: number;
  readonly ends: Readonly<Partial<Record<StopReason, number>>>;
}

/** A batch at a host that never recovers, under `strict-budget` (3 attempts a job): how much is sent in all? */
export function runFailingBatch(jobs: number, tokens: number): BatchResult {
  let tokensLeft = tokens;
  let attempts = 0;
  const ends: Partial<Record<StopReason, number>> = {};
  for (let number = 0; number < jobs; number += 1) {
    for (let used = 1; ; used += 1) {
      attempts += 1;
      const { jobEffect } = planSimulated({
        policy: PRESETS['strict-budget'],
        outcome: 'unavailable',
        wait: secondsWait(1),
        nowMs: 0,
        draw01: 0.5,
        job: { attempts: used, batchTokensLeft: tokensLeft },
      });
      if (jobEffect.kind === 'stop') {
        ends[jobEffect.reason] = (ends[jobEffect.reason] ?? 0) + 1;
        break;
      }
      tokensLeft -= 1;
    }
  }
  return { attempts, ends };
}
