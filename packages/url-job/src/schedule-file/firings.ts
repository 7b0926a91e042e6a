import { CronExpressionParser } from 'cron-parser';
import type { Schedule } from './schedule.ts';

type Timed = Pick<Schedule, 'cron' | 'zone'>;

/** The next `count` firings after an instant, ms since the epoch. */
export function firingsAfter({ cron, zone }: Timed, afterMs: number, count: number): readonly number[] {
  const expression = CronExpressionParser.parse(cron, { currentDate: new Date(afterMs), tz: zone });
  return expression.take(count).map((date) => date.getTime());
}

/** The latest firing at or before an instant. */
export function latestFiring({ cron, zone }: Timed, atMs: number): number {
  // The parser looks strictly before.
  const expression = CronExpressionParser.parse(cron, { currentDate: new Date(atMs + 1_000), tz: zone });
  let firing = expression.prev().getTime();
  while (firing > atMs) firing = expression.prev().getTime();
  return firing;
}

/** `nightly-20260115T0200`: the firing in UTC, so that the hour that comes twice in autumn makes two names. */
export function runNameOf(name: string, firingMs: number): string {
  const text = new Date(firingMs).toISOString();
  return `${name}-${text.slice(0, 16).replaceAll(/[-:]/g, '')}`;
}

/** The day of an instant where the schedule is at home, as {date} stands for: 2026-01-15. */
export function localDate(zone: string, atMs: number): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(new Date(atMs));
  const part = (type: string): string => parts.find((candidate) => candidate.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}`;
}
