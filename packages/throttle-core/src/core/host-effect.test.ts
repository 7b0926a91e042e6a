import { expect, test } from 'vitest';
import { sampleOutcome, waitSeconds } from '../testing/sample-plan-input.ts';
import { type HostEffectInput, hostEffectOf } from './host-effect.ts';
import { PRESETS } from './presets.ts';

const { retryAfter } = PRESETS.balanced;

function holdOf(change: Partial<HostEffectInput>): string | undefined {
  return hostEffectOf({
    outcome: sampleOutcome('throttled'),
    redirected: false,
    wait: { kind: 'absent' },
    rateLimit: null,
    noHintEvents: 0,
    policy: retryAfter,
    draw01: 0,
    receivedAtMs: 1000,
    ...change,
  }).hold?.reason;
}

test('a hold tells its owner what happened, in seconds', () => {
  expect(holdOf({ wait: waitSeconds(86_400) })).toBe(
    'the server asked for 86400 s, more than the 3600 s that need no owner',
  );
  expect(holdOf({ noHintEvents: 6 })).toBe('7 throttling events in a row without a usable wait');
  expect(holdOf({ policy: { ...retryAfter, onAbsent: 'hold' } })).toBe(
    'the server throttled without naming a wait',
  );
  expect(holdOf({ wait: { kind: 'malformed' }, policy: { ...retryAfter, onMalformed: 'hold' } })).toBe(
    'the server named a wait that cannot be read',
  );
  expect(holdOf({})).toBeUndefined();
});
