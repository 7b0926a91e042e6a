import type { Command } from 'commander';
import pc from 'picocolors';
import type { BatchSnapshot, HostSnapshot } from '@holdoff/throttle-core';
import { operatorCommand, type OperatorFlags, withFleet } from '../operator/operator-command.ts';
import { paceOf } from '../operator/explain-job.ts';
import { plainTable } from '../run/run-summary.ts';
import { waitOf } from '../run/watch-batch.ts';

const HOSTS_LOOKED_AT = 2_000;
const HOSTS_SHOWN = 20;
const BATCHES_SHOWN = 20;

/** `holdoff status`: the batches and the busiest hosts on one screen. */
export function statusCommand(): Command {
  return operatorCommand('status', 'show the batches and the busiest hosts')
    .addHelpText(
      'after',
      '\nExamples:\n  holdoff status\n  holdoff status --redis redis://valkey:6379 --json',
    )
    .action((flags: OperatorFlags) =>
      withFleet('status', flags, async ({ gate }) => {
        const names = await gate.listBatches();
        const batches = (await Promise.all(names.map((name) => gate.inspectBatch(name)))).filter(
          (batch) => batch !== undefined,
        );
        const { hosts: keys } = await gate.listHosts('', HOSTS_LOOKED_AT);
        const hosts = (await Promise.all(keys.map((key) => gate.inspectHost(key)))).filter(
          (host) => host !== undefined,
        );
        return { json: { batches, hosts }, text: screen(batches, hosts) };
      }),
    );
}

function screen(batches: readonly BatchSnapshot[], hosts: readonly HostSnapshot[]): string {
  if (batches.length === 0)
    return 'The fleet has no batch yet. holdoff enqueue urls.txt --batch NAME gives it work.';
  const newest = batches.toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(0, BATCHES_SHOWN);
  const table = plainTable(['batch', 'URLs', 'done', 'stopped', 'to go', '429s']);
  for (const snapshot of newest) {
    const { batch, jobs, throttled } = snapshot;
    table.push([batch, jobs.total, jobs.done, jobs.stopped, toGo(snapshot), throttled].map(String));
  }
  const busy = hosts
    .filter((host) => host.waiting > 0 || host.leases.length > 0 || host.hold !== null)
    .toSorted((a, b) => b.waiting - a.waiting);
  if (busy.length === 0) return `${table.toString()}\n\n${pc.dim(nobodyInLine(batches))}`;
  const hostTable = plainTable(['host', 'waiting', 'in flight', 'pace', 'now']);
  for (const host of busy.slice(0, HOSTS_SHOWN)) {
    hostTable.push([host.host, String(host.waiting), String(host.leases.length), paceOf(host), waitOf(host)]);
  }
  const more = busy.length > HOSTS_SHOWN ? `\n${pc.dim(`and ${busy.length - HOSTS_SHOWN} more`)}` : '';
  return `${table.toString()}\n\n${hostTable.toString()}${more}`;
}

function toGo({ jobs, movedOn }: BatchSnapshot): number {
  return jobs.total - movedOn - jobs.done - jobs.stopped;
}

function nobodyInLine(batches: readonly BatchSnapshot[]): string {
  if (batches.every((batch) => toGo(batch) === 0)) return 'No host has URLs waiting.';
  return 'No URL is in the line of a host: what is to go is with workers, or waits for a back-off of its own (holdoff explain URL).';
}
