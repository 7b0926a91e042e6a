import type { Command } from 'commander';
import { parseInstant } from '@holdoff/url-job';
import { openSources } from '../enqueue/read-entries.ts';
import { countUrls } from '../feasibility/count-urls.ts';
import { describeForecast, span } from '../feasibility/describe-forecast.ts';
import { forecastBatch } from '../feasibility/forecast.ts';
import { lookUpPace } from '../feasibility/look-up-pace.ts';
import {
  hostKeyOf,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import type { RunStore } from '../run/run-store.ts';

interface Flags extends OperatorFlags {
  readonly deadline?: string;
  readonly rate: readonly string[];
}

const EXIT_LATE = 2;
const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `holdoff batch plan`: whether a batch can be done by its deadline, before anything is sent. */
export function batchPlanCommand(): Command {
  return operatorCommand('plan', 'say whether lists of URLs can be done by a deadline; sends nothing')
    .argument('<lists...>', 'URLs, files with one URL or JSON object a line, or - for standard input')
    .option('--deadline <instant>', "6h, 2026-01-15T12:00:00Z, epoch; default: each host's policy")
    .option('--rate <host=rate>', 'assume 2/s, 30/m, 100/h for a host; may be repeated', collect, [])
    .addHelpText(
      'after',
      '\nExamples:\n  holdoff batch plan urls.txt --deadline 6h\n  holdoff batch plan - --deadline 6h --rate shop.example=2/s --json < urls.txt\n\nExit code: 0 when every host can make it, 2 when one cannot, 1 when that could not be found out.',
    )
    .action((lists: string[], flags: Flags) =>
      withFleet('batch plan', flags, (store) => plan(store, lists, flags)),
    );
}

async function plan(
  store: RunStore,
  lists: readonly string[],
  flags: Flags,
): Promise<{ json: unknown; text: string }> {
  const nowMs = await store.gate.now();
  const given = new Map(flags.rate.map(rateOf));
  const deadlineMs = flags.deadline === undefined ? null : deadlineOf(flags.deadline, nowMs);
  const { byHostname, refused } = await countUrls(await openSources(lists), {
    standardInput: process.stdin,
    defaults: {},
    nowMs,
    signal: new AbortController().signal,
  });
  const question = { deployment: flags.deployment, byHostname, given, deadlineMs, notBeforeMs: null };
  const hosts = forecastBatch(await lookUpPace(store, question));
  const unknown = [...given.keys()].filter((host) => !hosts.some((forecast) => forecast.host === host));
  if (unknown.length > 0) throw new OperatorFault(`--rate ${unknown[0] ?? ''}: no URL is of that host`);
  const urls = hosts.reduce((sum, host) => sum + host.urls, 0);
  const fits = hosts.every(({ verdict }) => verdict === 'fits');
  const needsMs = hosts.some((host) => host.needsMs === null)
    ? null
    : hosts.reduce((most, host) => Math.max(most, host.needsMs ?? 0), 0);
  if (!fits) process.exitCode = EXIT_LATE;
  const summary = `${urls} URLs of ${hosts.length} hosts, at least ${needsMs === null ? 'until a host is resumed' : span(needsMs)}${refused > 0 ? `; ${refused} lines would be refused` : ''}`;
  return {
    json: { urls, refused, fits, needsMs, hosts },
    text: hosts.length === 0 ? 'no URL in the lists' : `${describeForecast(hosts)}\n${summary}`,
  };
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}

/** `shop.example=30/m`: the host and the interval in ms. A bare number is a rate per second. */
function rateOf(text: string): readonly [string, number] {
  const match = /^(.+)=(\d+(?:\.\d+)?)(?:\/([smhd]))?$/.exec(text);
  const count = Number(match?.[2]);
  if (match === null || !(count > 0))
    throw new OperatorFault(`--rate must be such as shop.example=2/s or =30/m, not ${JSON.stringify(text)}`);
  const unit = (match[3] ?? 's') as keyof typeof UNIT_MS;
  return [hostKeyOf(match[1] ?? ''), UNIT_MS[unit] / count];
}

function deadlineOf(text: string, nowMs: number): number {
  const parsed = parseInstant('deadline', text, nowMs);
  if (parsed.kind === 'ok') return parsed.value;
  throw new OperatorFault(`--deadline ${JSON.stringify(text)} ${parsed.fault.rule}`);
}
