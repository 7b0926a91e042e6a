import { describe, expect, test } from 'vitest';
import { PRESETS } from '../core/presets.ts';
import { batchDefaultsOf, hostRulesOf } from './host-rules.ts';

describe('the rules that travel with an admission', () => {
  test('balanced', () => {
    expect(hostRulesOf(PRESETS.balanced)).toEqual({
      concurrency: 4,
      paceIntervalMs: 0,
      learn: {
        startIntervalMs: 500,
        floorIntervalMs: 10_000,
        ceilingIntervalMs: 0,
        doubleAfterSuccesses: 10,
        doubleAfterMs: 2500,
        decrease: 0.9,
        recoveryLeastMs: 120_000,
        recoveryPauses: 20,
        recoveryMostMs: 3_600_000,
        keepMs: 604_800_000,
      },
      circuit: { responsesMax: 25, eventsMax: 5, openMs: 600_000, growth: 2, openMostMs: 3_600_000 },
      ramp: { durationMs: 10_000, startFraction: 0.25 },
      hostTokens: { perSuccess: 0.1, cap: 10, start: 5 },
      attemptMs: 30_000,
      headroomMs: 500,
      leaseMarginMs: 5000,
      inlineMaxMs: 250,
    });
  });

  test('what is off, and what is not counted', () => {
    const strict = hostRulesOf(PRESETS['strict-budget']);
    expect([strict.learn, strict.circuit, strict.ramp, strict.hostTokens]).toEqual([null, null, null, null]);
    expect(hostRulesOf(PRESETS['header-first']).circuit?.eventsMax).toBe(0);
  });

  test('rates become intervals that are never faster', () => {
    const { pace } = PRESETS.balanced;
    const learn = pace.learn === null ? null : { ...pace.learn, startPerSecond: 3, ceilingPerSecond: 7 };
    const rules = hostRulesOf({ ...PRESETS.balanced, pace: { intervalMs: 40, learn } });
    expect([rules.paceIntervalMs, rules.learn?.startIntervalMs, rules.learn?.ceilingIntervalMs]).toEqual([
      40, 334, 143,
    ]);
  });
});

describe('how a batch begins', () => {
  const request = {
    tokens: null,
    approved: null,
    owner: 'ann',
    deadlineMs: null,
    spend: { bytesMax: 1, requestsMax: 2, costMicrosMax: 3 },
  };

  test.for([
    ['balanced', true, { kind: 'share', share: 0.2, least: 10 }],
    ['header-first', true, { kind: 'off' }],
    ['strict-budget', false, { kind: 'fixed', total: 0 }],
  ] as const)('under %s approved is %s', ([preset, approved, tokens]) => {
    expect(batchDefaultsOf(PRESETS[preset], request)).toEqual({
      tokens,
      approved,
      owner: 'ann',
      deadlineMs: 0,
      spend: request.spend,
    });
  });

  test('what the batch says itself counts', () => {
    const said = { ...request, tokens: 20, approved: true, deadlineMs: 99 };
    expect(batchDefaultsOf(PRESETS['strict-budget'], said)).toMatchObject({
      tokens: { kind: 'fixed', total: 20 },
      approved: true,
      deadlineMs: 99,
    });
    expect(batchDefaultsOf(PRESETS.balanced, { ...request, approved: false }).approved).toBe(false);
  });
});
