import { expect, test } from 'vitest';
import { crawlDelayPace } from './crawl-delay-pace.ts';

test.each([
  { delay: 0.2, own: 1_000, intervalMs: 1_000, capped: false },
  { delay: 1.5, own: 1_000, intervalMs: 1_500, capped: false },
  { delay: 0.0001, own: null, intervalMs: 1, capped: false },
  { delay: 301, own: null, intervalMs: 301_000, capped: false },
  { delay: 86_400, own: null, intervalMs: 600_000, capped: true },
  { delay: 86_400, own: 700_000, intervalMs: 700_000, capped: true },
  { delay: 0, own: null, intervalMs: null, capped: false },
  { delay: null, own: 250, intervalMs: 250, capped: false },
])('Crawl-delay $delay beside an own interval of $own ms is $intervalMs ms', ({ delay, own, ...pace }) => {
  expect(crawlDelayPace(delay, own)).toEqual(pace);
});
