import type { Schedule } from '@holdoff/url-job/schedule-file';
import { expect, test } from 'vitest';
import { judgeFiring, MISSED_AFTER_MS } from './judge-firing.ts';

const PLANNED = Date.parse('2026-01-15T02:00:00Z');
const DAY = 86_400_000;
const schedule = (missed: Schedule['missed']): Schedule => ({
  name: 'n',
  cron: '0 2 * * *',
  zone: 'UTC',
  list: 'a',
  owner: 'o',
  overlap: 'skip',
  missed,
});

test.each<[string, Schedule['missed'], number, number | null]>([
  ['in time', 'skip', 0, PLANNED],
  ['a little early, by another clock', 'skip', -500, PLANNED],
  ['just not missed', 'skip', MISSED_AFTER_MS, PLANNED],
  ['missed, and left out', 'skip', MISSED_AFTER_MS + 1, null],
  ['missed, and made up for', 'run_once', MISSED_AFTER_MS + 1, PLANNED],
  [
    'three days missed, and made up for once, as the latest of them',
    'run_once',
    3 * DAY + 1,
    PLANNED + 3 * DAY,
  ],
])('%s', (_, missed, lateMs, firingMs) => {
  const verdict = judgeFiring(schedule(missed), PLANNED, PLANNED + lateMs);
  expect(verdict).toEqual(firingMs === null ? { kind: 'missed' } : { kind: 'run', firingMs });
});
