import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parse as parseYaml } from 'yaml';
import { type OriginDescription, type OriginDescriptionInput, parseDescription } from './description.ts';
import type { HostStats } from './host-stats.ts';
import { SCENARIOS } from './scenarios.ts';
import { type SampleOrigin, startSampleOrigin } from './start-sample-origin.ts';

export interface ProgramSurroundings {
  readonly print: (text: string) => void;
  /** Resolves when the process is asked to end. */
  readonly asked: Promise<unknown>;
}

interface Options {
  readonly scenario: string;
  readonly file?: string;
  readonly port?: number;
  readonly adminPort?: number;
  readonly listen?: string;
  readonly logFile?: string;
  readonly json: boolean;
}

/** The command line: starts an origin, says where it is, and shows what it saw when it is asked to end. */
export function buildProgram(surroundings: ProgramSurroundings): Command {
  return new Command('sample-origin')
    .description('A throttling web server on loopback addresses, for demos, tests and benchmarks.')
    .addOption(
      new Option('-s, --scenario <name>', 'a ready-made origin')
        .choices(Object.keys(SCENARIOS))
        .default('demo')
        .conflicts('file'),
    )
    .option('-f, --file <path>', 'an origin description, JSON or YAML')
    .option('-p, --port <number>', 'port of all hosts; 0: any free one', portNumber)
    .option(
      '-l, --listen <address>',
      'one address for all hosts, told apart by the Host header (for containers)',
    )
    .option('--admin-port <number>', 'port of /stats, /log, /hosts, /reset, /rules on 127.0.0.1', portNumber)
    .option('--log-file <path>', 'append one JSON line per request')
    .option('--json', 'one JSON line when ready and one at the end, nothing else', false)
    .addHelpText('after', scenarioHelp())
    .action(async (options: Options) => {
      const origin = await startSampleOrigin(await describe(options));
      surroundings.print(options.json ? readyLine(origin) : readyText(origin));
      await surroundings.asked;
      const stats = origin.stats();
      await origin.stop();
      surroundings.print(options.json ? `${JSON.stringify(stats)}\n` : statsText(stats.hosts));
    });
}

async function describe(options: Options): Promise<OriginDescriptionInput> {
  const base =
    options.file === undefined ? SCENARIOS[options.scenario]?.origin : await readDescription(options.file);
  const checked = parseDescription(base);
  return {
    ...checked,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.listen === undefined ? {} : { listen: options.listen }),
    ...(options.adminPort === undefined ? {} : { adminPort: options.adminPort }),
    ...(options.logFile === undefined ? {} : { log: { ...checked.log, file: options.logFile } }),
  };
}

/** YAML is a superset of JSON, so one parser reads both. */
async function readDescription(path: string): Promise<OriginDescription> {
  const text = await readFile(path, 'utf8');
  try {
    const read: unknown = parseYaml(text, { maxAliasCount: 100 });
    return parseDescription(read);
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new Error(`${path}: ${line}`, { cause: error });
  }
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is 0 to 65535');
  return port;
}

function scenarioHelp(): string {
  const lines = Object.entries(SCENARIOS).map(([name, { about }]) => `  ${name.padEnd(11)}${about}`);
  return `\nScenarios:\n${lines.join('\n')}\n`;
}

function readyLine(origin: SampleOrigin): string {
  const { port, adminUrl, hosts } = origin;
  return `${JSON.stringify({ ready: true, port, adminUrl, hosts: Object.fromEntries(hosts) })}\n`;
}

function readyText(origin: SampleOrigin): string {
  const hosts = [...origin.hosts];
  const shown = hosts.slice(0, 20).map(([name, url]) => `  ${name.padEnd(18)}${url}/`);
  const more = hosts.length > shown.length ? [`  … and ${hosts.length - shown.length} more`] : [];
  const lines = ['The sample origin answers on:', ...shown, ...more, `What it saw: ${origin.adminUrl}/stats`];
  return `${lines.join('\n')}\n`;
}

/** One line per host that saw a request. */
function statsText(hosts: readonly HostStats[]): string {
  const rows = hosts.filter((host) => host.requests > 0);
  if (rows.length === 0) return 'No requests.\n';
  const table = [
    ['host', 'requests', '2xx', '429', 'in a cooldown', 'in flight', 'per second', 'limit'],
    ...rows.map((host) => [
      host.host,
      String(host.requests),
      String(host.served),
      String(host.throttled429),
      String(host.inCooldown.afterNotice),
      String(host.inFlightMax),
      host.goodputPerSecond?.toFixed(1) ?? '–',
      host.limitPerSecond?.toFixed(1) ?? '–',
    ]),
  ];
  const widths =
    table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ');
  return `${table.map(line).join('\n')}\n`;
}
