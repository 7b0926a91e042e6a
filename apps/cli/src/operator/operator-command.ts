import { Command, Option } from 'commander';
import pc from 'picocolors';
import { redactText } from '@holdoff/service-runtime';
import type { BatchId, HostKey } from '@holdoff/throttle-core';
import { DEFAULT_DEPLOYMENT, DEPLOYMENT_GRAMMAR } from '@holdoff/url-job';
import { environment } from '../config.ts';
import { openRunStore, type RunStore } from '../run/run-store.ts';
import { findFleet, type FoundFleet } from './find-fleet.ts';

export interface OperatorFlags {
  readonly redis?: string;
  readonly data: string;
  readonly deployment: string;
  readonly json: boolean;
}

/** What went wrong, in one line, with the exit code 1. */
export class OperatorFault extends Error {
  readonly code = 'OPERATOR_FAULT';
}

/** A subcommand that looks at, or changes, a running fleet. */
export function operatorCommand(name: string, summary: string): Command {
  return new Command(name)
    .summary(summary)
    .description(`${summary[0]?.toUpperCase() ?? ''}${summary.slice(1)}.`)
    .addOption(
      new Option(
        '--redis <url>',
        'Redis or Valkey of the fleet; default: that of the run in --data, else redis://127.0.0.1:6379',
      ).env('REDIS_URL'),
    )
    .option('--data <dir>', 'data folder of a run on this machine, going on or ended', './.holdoff')
    .option('--deployment <name>', 'name of the deployment', DEFAULT_DEPLOYMENT)
    .option('--json', 'print one JSON object', false);
}

/** Opens the fleet, does the work, prints what it says, and turns faults into one line. */
export async function withFleet(
  command: string,
  flags: OperatorFlags,
  work: (store: RunStore) => Promise<{ readonly json: unknown; readonly text: string }>,
): Promise<void> {
  let found: FoundFleet | undefined;
  let store: RunStore | undefined;
  try {
    if (!DEPLOYMENT_GRAMMAR.test(flags.deployment))
      throw new OperatorFault('--deployment is lower-case letters, digits and dashes');
    if (flags.redis !== undefined && !/^rediss?:$/.test(URL.parse(flags.redis)?.protocol ?? ''))
      throw new OperatorFault('--redis must be a URL such as redis://127.0.0.1:6379');
    found = await findFleet(flags, environment['PATH'] ?? '');
    if (found.note !== null) process.stderr.write(`${pc.dim(found.note)}\n`);
    store = await openRunStore(found.url, flags.deployment);
    const said = await work(store);
    process.stdout.write(flags.json ? `${JSON.stringify(said.json)}\n` : `${said.text}\n`);
  } catch (error) {
    process.stderr.write(
      `${pc.red(`holdoff ${command}:`)} ${redactText(error instanceof Error ? error.message : String(error))}\n`,
    );
    process.exitCode = 1;
  } finally {
    store?.close();
    await found?.leave();
  }
}

export function hostKeyOf(text: string): HostKey {
  const host = text.includes('://') ? (URL.parse(text)?.hostname ?? '') : text;
  const key = host.toLowerCase().replace(/\.$/, '');
  if (key === '') throw new OperatorFault(`${JSON.stringify(text)} names no host`);
  return key as HostKey;
}

export function batchIdOf(text: string): BatchId {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) {
    throw new OperatorFault('a batch name is 1 to 64 letters, digits, dots, dashes or underscores');
  }
  return text as BatchId;
}

export function instant(ms: number): string {
  return ms > 0 ? new Date(ms).toISOString().replace('.000Z', 'Z') : '-';
}

/** `in 2 min 5 s`, or the instant itself when it is far. */
export function fromNow(ms: number, nowMs: number): string {
  const seconds = Math.ceil((ms - nowMs) / 1_000);
  if (seconds <= 0) return 'now';
  if (seconds < 120) return `in ${seconds} s (${instant(ms)})`;
  if (seconds < 7_200) return `in ${Math.floor(seconds / 60)} min ${seconds % 60} s (${instant(ms)})`;
  return `in ${(seconds / 3_600).toFixed(1)} h (${instant(ms)})`;
}

/** As `fromNow`, of an end that may have passed. */
export function endFromNow(ms: number, nowMs: number): string {
  return ms > nowMs ? fromNow(ms, nowMs) : `passed (${instant(ms)})`;
}

/** Label and value in two columns. */
export function fields(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${pc.dim(label.padEnd(width))}  ${value}`).join('\n');
}
