import { type HostSnapshot, proxyOfScope } from '@holdoff/throttle-core';
import { waitOf } from '../run/watch-batch.ts';
import { paceOf } from './explain-job.ts';
import { fields, fromNow, instant } from './operator-command.ts';

/** All that the fleet knows about a host, for people. */
export function describeHost(host: HostSnapshot): string {
  const { circuit, nowMs, pace, hold } = host;
  const rows: [string, string][] = [
    [proxyOfScope(host.host) === null ? 'host' : 'proxy', host.host],
    ['now', waitOf(host) || 'free to go'],
    ['waiting', `${host.waiting} in line, ${host.called} called, ${host.leases.length} in flight`],
    ['cooldown', host.cooldownUntilMs > nowMs ? `ends ${fromNow(host.cooldownUntilMs, nowMs)}` : 'none'],
    [
      'circuit',
      circuit.state === 'closed'
        ? `closed (${circuit.consecutiveEvents} throttling events in a row)`
        : `${circuit.state.replace('_', '-')}, opened ${circuit.opens}x, until ${instant(circuit.openUntilMs)}`,
    ],
    ['pace', `${paceOf(host)}, ${phaseOf(host)}`],
  ];
  if (pace.lastCeilingIntervalMs > 0) {
    rows.push([
      'last ceiling',
      `${(1_000 / pace.lastCeilingIntervalMs).toFixed(1)} requests/s, met at ${instant(pace.lastEventAtMs)}`,
    ]);
  }
  if (pace.heldBack !== null) rows.push(['pace grows', `not at the moment: ${pace.heldBack}`]);
  if (pace.override.kind !== 'none') rows.push(['pace override', JSON.stringify(pace.override)]);
  if (host.tokensLeft !== null) rows.push(['retry tokens', host.tokensLeft.toFixed(1)]);
  if (hold !== null) rows.push(['held', `${hold.reason} (by ${hold.by}, since ${instant(hold.sinceMs)})`]);
  if (host.why !== null)
    rows.push([
      proxyOfScope(host.host) === null ? 'closed last by' : 'failed last',
      `${host.why} (${instant(host.whyAtMs)})`,
    ]);
  if (host.lookAtMs !== null) rows.push(['next look', fromNow(host.lookAtMs, nowMs)]);
  return fields(rows);
}

function phaseOf({ pace }: HostSnapshot): string {
  switch (pace.phase) {
    case 'slow_start':
      return 'still looking for the limit';
    case 'steady':
      return 'learned';
    case 'off':
      return pace.effectiveIntervalMs > 0 ? 'configured' : 'not limited';
  }
}
