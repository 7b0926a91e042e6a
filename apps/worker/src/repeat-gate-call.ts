import { GateUnavailable } from '@holdoff/throttle-core/redis';

export interface RepeatLimits {
  readonly triesMax: number;
  readonly gapMs: number;
}

/** An admission whose reply was lost may hold a slot: worth a second of asking again before the job steps back. */
export const ADMISSION_REPEATS: RepeatLimits = { triesMax: 4, gapMs: 250 };
/** A result is what an attempt was spent for: asked for about as long as its lease lives. */
export const SETTLEMENT_REPEATS: RepeatLimits = { triesMax: 40, gapMs: 500 };

/**
 * Asks the gate again while it is unreachable. Every call carries a nonce, so that one whose reply was lost is
 * answered, not charged, the second time.
 */
export async function repeatGateCall<Reply>(
  ask: () => Promise<Reply>,
  limits: RepeatLimits,
  sleep: (waitMs: number) => Promise<void>,
): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GateUnavailable) || tries >= limits.triesMax) throw error;
      await sleep(limits.gapMs);
    }
  }
}
