import {
  type HostReport,
  type SimulationResult,
  idealMs,
  throttledShare,
} from '@holdoff/throttle-core/simulate';
import type picocolors from 'picocolors';
import { drawChart, printSeconds } from './draw-chart.ts';
import type { ScenarioFile } from './scenario-file.ts';

type Colors = ReturnType<typeof picocolors.createColors>;

const HOSTS_SHOWN = 20;

/** The result for people: what came out, how it compares with what was possible, and a picture of it. */
export function printSimulation(file: ScenarioFile, result: SimulationResult, colors: Colors): string {
  const parts = [
    file.about === '' ? null : `${colors.bold(file.about)}\n`,
    drawChart(result.timeline, colors),
    '',
    ...facts(file, result).map(([name, text]) => `${colors.dim(name.padStart(14))}  ${text}`),
    '',
    hostTable(result.hosts, colors),
  ];
  return `${parts.filter((part) => part !== null).join('\n')}\n`;
}

function facts(file: ScenarioFile, result: SimulationResult): [string, string][] {
  const share = (throttledShare(result) * 100).toFixed(2);
  return [
    ['finished', finish(result)],
    ['URLs', `${count(result.done)} of ${count(result.urls)} done${endings(result)}`],
    [
      'requests',
      `${count(result.requests)}, of them ${count(result.throttled)} answered 429 (${share} %), ${count(result.failed)} failed`,
    ],
    ['in a cooldown', `${count(result.inCooldown)} requests`],
    ['retry tokens', tokens(result)],
    ['fleet', `${file.fleet.workers} workers with ${file.fleet.concurrency} hands each, seed ${file.seed}`],
  ];
}

function finish(result: SimulationResult): string {
  if (result.finishedMs === null) {
    return `not within ${printSeconds(result.reachedMs / 1000)}; ${count(result.waiting)} URLs still wait`;
  }
  const took = printSeconds(result.finishedMs / 1000);
  const ideal = idealMs(result);
  if (ideal <= 0) return `after ${took}`;
  const times = (result.finishedMs / ideal).toFixed(2);
  return `after ${took}, ${times} x the ${printSeconds(ideal / 1000)} that limits allow at best`;
}

function endings({ stopped }: SimulationResult): string {
  return Object.entries(stopped)
    .map(([reason, urls]) => `, ${count(urls)} stopped (${reason})`)
    .join('');
}

function tokens({ tokens: bucket }: SimulationResult): string {
  return bucket === null ? 'off' : `${count(bucket.spent)} of ${count(bucket.total)} spent`;
}

const COLUMNS = ['host', 'URLs', 'done', '429s', 'events', 'pages/s', 'limit/s', 'given', 'pace/s'] as const;

function hostTable(hosts: readonly HostReport[], colors: Colors): string {
  const shown = hosts.toSorted((a, b) => (b.lastDoneMs ?? 0) - (a.lastDoneMs ?? 0)).slice(0, HOSTS_SHOWN);
  const rows = shown.map((host) => row(host));
  const widths = COLUMNS.map((name, at) =>
    Math.max(name.length, ...rows.map((cells) => cells[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  const notes = shown.filter(({ held }) => held !== null).map((host) => `${host.name} is held: ${host.held}`);
  const more = hosts.length - shown.length;
  return [
    colors.dim(line(COLUMNS)),
    ...rows.map(line),
    ...(more > 0 ? [colors.dim(`and ${count(more)} hosts that were done sooner`)] : []),
    ...notes.map((note) => colors.yellow(note)),
  ].join('\n');
}

function row(host: HostReport): string[] {
  const { limitPerSecond: limit, servedPerSecond: served } = host;
  return [
    host.name,
    count(host.urls),
    count(host.done),
    count(host.throttled),
    count(host.events),
    rate(served),
    limit === null ? '-' : rate(limit),
    limit === null || served === 0 ? '-' : `${Math.round((served / limit) * 100)} %`,
    host.pacePerSecond === null ? '-' : rate(host.pacePerSecond),
  ];
}

function rate(perSecond: number): string {
  return perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toPrecision(3);
}

function count(value: number): string {
  return value.toLocaleString('en');
}
