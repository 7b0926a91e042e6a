import { GateUnavailable } from '@holdoff/throttle-core/redis';

export interface RepeatLimits {
  readonly triesMax: number;
  readonly gapMs: number;
}

/** An admission whose reply was lost may hold a slot: worth a second of asking again before the job steps back. */
export const ADMISSION_REPEATS: RepeatLimits = { triesMax: 4, gapMs: 250 };
const SETTLEMENT_GAP_MS = 500;
/** About as long as a lease lives. */
const SETTLEMENT_TRIES_LEAST = 40;
const SETTLEMENT_MS_MOST = 86_400_000;

/**
 * A result is what an attempt was spent for, and a wait that the server asked for (`waitMs`; 0: none) is what the fleet
 * must learn: giving up before it is over would let the other workers send too early once the gate is back. The seat
 * costs nothing meanwhile, since without the gate nobody sends.
 */
export function settlementRepeats(waitMs: number): RepeatLimits {
  const tries = Math.ceil(Math.min(waitMs, SETTLEMENT_MS_MOST) / SETTLEMENT_GAP_MS);
  return { triesMax: Math.max(SETTLEMENT_TRIES_LEAST, tries), gapMs: SETTLEMENT_GAP_MS };
}

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
