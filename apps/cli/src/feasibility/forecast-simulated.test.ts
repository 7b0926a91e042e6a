import { PRESETS } from '@holdoff/throttle-core';
import { seededRandom, simulate } from '@holdoff/throttle-core/simulate';
import { expect, test } from 'vitest';
import { forecastHost } from './forecast.ts';

const answer = { status: 200, headers: {}, latencyMs: 80, fault: null, publishedWaitMs: null, letIn: true };
const origin = { answer: () => answer, ended: () => undefined, limitPerSecond: () => null };

/** Hosts at a pace of their own, in one run: what each takes is foretold within a tenth. */
test('the forecast is within 10 % of what the simulator plays, for slow and fast hosts in one batch', () => {
  const cases = [
    { name: 'one-a-minute', urls: 40, intervalMs: 60_000 },
    { name: 'crawl-delay', urls: 300, intervalMs: 10_000 },
    { name: 'two-a-second', urls: 2_000, intervalMs: 500 },
    { name: 'ten-a-second', urls: 5_000, intervalMs: 100 },
    { name: 'fifty-a-second', urls: 10_000, intervalMs: 20 },
  ];
  const { hosts } = simulate({
    hosts: cases.map(({ name, urls, intervalMs }) => ({
      name,
      urls,
      origin,
      policy: { ...PRESETS.balanced, concurrency: 16, pace: { intervalMs, learn: null } },
      learnedPerSecond: null,
    })),
    fleet: { workers: 4, concurrency: 50, lateMs: 5, sendMs: 3, overheadMs: 2 },
    tokens: null,
    untilMs: 30 * 86_400_000,
    random01: seededRandom(7),
  });
  const off = cases.map(({ name, urls, intervalMs }) => {
    const { needsMs } = forecastHost({
      host: name,
      urls,
      ahead: 0,
      intervalMs,
      source: 'configured',
      learning: false,
      closedForMs: 0,
      held: false,
      deadlineInMs: null,
    });
    const played = hosts.find((host) => host.name === name)?.lastDoneMs ?? 0;
    return { name, ratio: (needsMs ?? 0) / played };
  });
  for (const { name, ratio } of off) {
    expect({ name, isNear: ratio > 0.9 && ratio < 1.1, ratio }).toMatchObject({ name, isNear: true });
  }
});
