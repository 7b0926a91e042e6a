import { describe, expect, test } from 'vitest';
import { describeWarnings } from './describe-forecast.ts';
import { forecastBatch, forecastHost, type HostWork } from './forecast.ts';

const HOUR = 3_600_000;
const WORK: HostWork = {
  host: 'a.test',
  urls: 3_600,
  ahead: 0,
  intervalMs: 1_000,
  source: 'fleet',
  learning: false,
  closedForMs: 0,
  held: false,
  deadlineInMs: HOUR,
};

describe('what a host needs', () => {
  test.each<[string, Partial<HostWork>, number | null, string]>([
    ['just in time', {}, HOUR, 'fits'],
    ['one URL more', { urls: 3_601 }, HOUR + 1_000, 'late'],
    ['what waits goes first', { ahead: 1 }, HOUR + 1_000, 'late'],
    ['a cooldown comes first', { closedForMs: 1 }, HOUR + 1, 'late'],
    ['a pace that may grow', { urls: 3_601, learning: true }, HOUR + 1_000, 'may_be_late'],
    [
      'a cooldown beyond the deadline, at any pace',
      { closedForMs: HOUR + 1, learning: true },
      2 * HOUR + 1,
      'late',
    ],
    ['no deadline', { urls: 1e9, deadlineInMs: null }, 1e12, 'fits'],
    ['no pace', { intervalMs: 0, urls: 1e9 }, 0, 'fits'],
    ['no pace, and a cooldown', { intervalMs: 0, closedForMs: 2 * HOUR }, 2 * HOUR, 'late'],
    ['a fraction of a millisecond is rounded up', { intervalMs: 0.3, urls: 1 }, 1, 'fits'],
    ['held', { held: true, deadlineInMs: null }, null, 'held'],
  ])('%s', (_, over, needsMs, verdict) => {
    expect(forecastHost({ ...WORK, ...over })).toMatchObject({ needsMs, verdict });
  });
});

test('the worst host comes first', () => {
  const works: HostWork[] = [
    { ...WORK, host: 'fits', urls: 1 },
    { ...WORK, host: 'late', urls: 4_000 },
    { ...WORK, host: 'later', urls: 5_000 },
    { ...WORK, host: 'learning', urls: 9_000, learning: true },
    { ...WORK, host: 'held', held: true },
  ];
  expect(forecastBatch(works).map(({ host }) => host)).toEqual(['held', 'later', 'late', 'learning', 'fits']);
});

test('a warning names the host, its URLs, its pace and both times; hosts that make it are not named', () => {
  const works: HostWork[] = [
    { ...WORK, urls: 7_200, ahead: 10 },
    { ...WORK, host: 'b.test', urls: 10 },
    { ...WORK, host: 'c.test', held: true, urls: 5 },
  ];
  expect(describeWarnings(forecastBatch(works))).toEqual([
    'c.test is held by its owner: its 5 URLs wait until it is resumed',
    'a.test: 7200 URLs after 10 that wait already take 2 h at 1/s (known to the fleet), the deadline is in 60 min',
  ]);
});
