import pc from 'picocolors';
import { plainTable } from '../run/run-summary.ts';
import type { HostForecast } from './forecast.ts';

const HOSTS_SHOWN = 20;

const VERDICTS: Readonly<Record<HostForecast['verdict'], string>> = {
  fits: pc.green('fits'),
  late: pc.red('too late'),
  may_be_late: pc.yellow('late at this pace'),
  held: pc.red('held by its owner'),
};

const SOURCES: Readonly<Record<HostForecast['source'], string>> = {
  given: 'as given',
  fleet: 'known to the fleet',
  start: 'where the policy begins',
  configured: 'set by the policy',
  unlimited: 'no pace is set',
};

/** A table of the hosts, the worst first. */
export function describeForecast(forecasts: readonly HostForecast[]): string {
  const table = plainTable(['host', 'URLs', 'ahead', 'pace', 'from', 'takes', 'deadline', '']);
  for (const forecast of forecasts.slice(0, HOSTS_SHOWN)) {
    table.push([
      forecast.host,
      String(forecast.urls),
      String(forecast.ahead),
      pace(forecast.intervalMs),
      SOURCES[forecast.source],
      forecast.needsMs === null ? '-' : `${forecast.intervalMs === 0 ? '≥ ' : ''}${span(forecast.needsMs)}`,
      forecast.deadlineInMs === null ? 'none' : span(forecast.deadlineInMs),
      VERDICTS[forecast.verdict],
    ]);
  }
  const more = forecasts.length - HOSTS_SHOWN;
  return `${table.toString()}${more > 0 ? `\n${more} more hosts, each better than these; --json lists them` : ''}`;
}

/** One line for each host that cannot make it, for whoever is about to send. */
export function describeWarnings(forecasts: readonly HostForecast[]): readonly string[] {
  const bad = forecasts.filter(({ verdict }) => verdict !== 'fits');
  const lines = bad.slice(0, HOSTS_SHOWN).map(({ host, urls, ahead, intervalMs, needsMs, ...rest }) => {
    if (rest.verdict === 'held')
      return `${host} is held by its owner: its ${urls} URLs wait until it is resumed`;
    const first = ahead > 0 ? ` after ${ahead} that wait already` : '';
    const learns = rest.verdict === 'may_be_late' ? '; the pace is still being learned' : '';
    return `${host}: ${urls} URLs${first} take ${span(needsMs ?? 0)} at ${pace(intervalMs)} (${SOURCES[rest.source]}), the deadline is in ${span(rest.deadlineInMs ?? 0)}${learns}`;
  });
  if (bad.length > HOSTS_SHOWN)
    lines.push(`${bad.length - HOSTS_SHOWN} more hosts: holdoff batch plan lists them`);
  return lines;
}

function pace(intervalMs: number): string {
  if (intervalMs <= 0) return 'unlimited';
  const perSecond = 1_000 / intervalMs;
  return perSecond >= 1 ? `${round(perSecond)}/s` : `${round(perSecond * 60)}/min`;
}

export function span(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`;
  if (seconds < 172_800) return `${round(seconds / 3_600)} h`;
  return `${round(seconds / 86_400)} days`;
}

function round(value: number): number {
  return Number(value.toFixed(1));
}
