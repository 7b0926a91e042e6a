import { describe, expect, test } from 'vitest';
import { NEW_PACE, type PaceState } from './pace.ts';
import { weighEvent } from './weigh-event.ts';

const START = 1_000_000;

/** A host that refuses one of `gap` results whatever the pace is, seen by a pace that is cut each time it is blamed. */
function refuseForEver(
  gap: number,
  events: number,
): { readonly states: PaceState[]; readonly blamed: boolean[] } {
  let state: PaceState = { ...NEW_PACE, phase: 'steady', servedSinceEvent: 500 };
  let intervalMs = 100;
  let nowMs = START;
  const states: PaceState[] = [];
  const blamed: boolean[] = [];
  for (let event = 0; event < events; event += 1) {
    const weighed = weighEvent(state, intervalMs, nowMs);
    if (weighed.blamed) intervalMs /= 0.9;
    state = { ...weighed.state, servedSinceEvent: gap - 1 };
    states.push(state);
    blamed.push(weighed.blamed);
    nowMs += gap * intervalMs;
  }
  return { states, blamed };
}

describe('the pace is to blame', () => {
  test('for an event after a climb, however often', () => {
    expect(refuseForEver(100, 30).blamed).not.toContain(false);
  });

  test('for one event after the other above a limit, which gives less than the pace', () => {
    let state: PaceState = { ...NEW_PACE, phase: 'steady' };
    // 30 a minute, asked too fast: the window gives 30, then nothing for the rest of the minute.
    for (const [at, intervalMs] of [62, 125, 250, 500, 1_000, 1_900].entries()) {
      const weighed = weighEvent({ ...state, servedSinceEvent: 30 }, intervalMs, START + at * 60_000);
      expect(weighed.blamed).toBe(true);
      state = weighed.state;
    }
  });
});

describe('the pace is not to blame', () => {
  test('once a row of events has cut it to half, below what the host gave, and it refuses as before', () => {
    const { states, blamed } = refuseForEver(30, 12);
    const first = blamed.indexOf(false);
    expect(first).toBeGreaterThan(5);
    expect(blamed.slice(first)).not.toContain(true);
    expect(states[first]).toMatchObject({ noiseGap: 30, phase: 'slow_start' });
  });

  test('unless refusals get denser', () => {
    const noisy = refuseForEver(30, 12).states.at(-1) ?? NEW_PACE;
    let state = noisy;
    const blamed = Array.from({ length: 4 }, (_, n) => {
      const weighed = weighEvent({ ...state, servedSinceEvent: 2 }, 50, START + 600_000 + n * 1_000);
      state = weighed.state;
      return weighed.blamed;
    });
    expect(blamed).toEqual([false, false, true, false]);
  });

  test('until the host has refused nothing for long', () => {
    const noisy = refuseForEver(30, 12).states.at(-1) ?? NEW_PACE;
    const weighed = weighEvent({ ...noisy, servedSinceEvent: 200 }, 50, START + 900_000);
    expect(weighed).toMatchObject({ blamed: true, state: { noiseGap: 0 } });
  });
});
