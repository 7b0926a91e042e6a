import { access, constants, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { parsePolicyFile, printProblem } from '@holdoff/throttle-core/policy-file';
import { DEFAULT_DEPLOYMENT, isBatchName } from '@holdoff/url-job';
import { environment } from '../config.ts';
import { runDemo } from '../run/demo.ts';
import { createPlainView, createProgressView, type ProgressView, silentView } from '../run/progress-view.ts';
import { readRequests, type RefusedLine } from '../run/read-requests.ts';
import { RunFault, type RunOptions } from '../run/run-options.ts';
import { printSummary, type RunSummary } from '../run/run-summary.ts';
import { runUrls } from '../run/run-urls.ts';

interface RunFlags {
  readonly workers: number;
  readonly concurrency: number;
  readonly redis?: string;
  readonly policy?: string;
  readonly batch?: string;
  readonly out: string;
  readonly data: string;
  readonly handler?: string;
  readonly extract?: string;
  readonly allowNetwork: readonly string[];
  readonly json: boolean;
}

const REFUSED_SHOWN = 5;
const PLAIN_EVERY_MS = 2_000;
/** A run that waits says so from time to time, and why. */
const PLAIN_STILL_EVERY_MS = 15_000;
const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

/** `holdoff run`: fetch a list of URLs with the processes of this machine. */
export function runCommand(): Command {
  return new Command('run')
    .summary('fetch a list of URLs on this machine')
    .description(
      'Fetches URLs with a scheduler and workers on this machine. Without arguments it shows a run against a throttling sample origin.',
    )
    .argument('[urls...]', 'URLs, files with one URL a line, or - for standard input')
    .option('--workers <n>', 'worker processes', whole(1, 64), 2)
    .option('--concurrency <n>', 'jobs that each worker works on at once', whole(1, 1_000), 16)
    .addOption(
      new Option('--redis <url>', 'use this Redis or Valkey instead of one of our own').env('REDIS_URL'),
    )
    .option('--policy <file>', 'policy file (YAML)')
    .option('--batch <name>', 'name of the batch; default: one that belongs to the list', batchName)
    .option('--out <dir>', 'folder for results.jsonl and the bodies', './results')
    .option('--data <dir>', 'folder for the store and the logs', './.holdoff')
    .addOption(
      new Option(
        '--handler <file>',
        'ES module (.js, .mjs, .ts) whose default function looks into each page',
      ).conflicts('extract'),
    )
    .option('--extract <file>', 'fields to take out of each page by CSS selectors (YAML or JSON)')
    .addOption(
      new Option('--allow-network <cidr>', 'private network that may be fetched from; may be repeated')
        .argParser((value: string, earlier: string[]) => [...earlier, value])
        .default([], 'none'),
    )
    .option('--json', 'no progress; the last line is one JSON object', false)
    .addHelpText(
      'after',
      `
Examples:
  holdoff run urls.txt --out results
  holdoff run https://example.com/a https://example.com/b --json
  holdoff run https://example.com/ --handler ./crawl.ts
  cut -f1 list.tsv | holdoff run - --policy polite.yaml --workers 4

Ctrl-C stops cleanly, and the same command goes on where it stopped.
Exit code: 0 when every URL has ended, also if some were stopped; 1 when the run failed; 130 after Ctrl-C.`,
    )
    .action(async (names: string[], flags: RunFlags) => {
      process.exitCode = await run(names, flags);
    });
}

async function run(names: readonly string[], flags: RunFlags): Promise<number> {
  const interrupted = new AbortController();
  const onSignal = (): void =>
    interrupted.signal.aborted ? process.exit(EXIT_INTERRUPTED) : interrupted.abort();
  let view: ProgressView = silentView;
  // Until something runs that must be ended in order, Ctrl-C simply ends the command, also while it reads its input.
  const begin = (): void => {
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    view = viewFor(flags.json);
  };
  try {
    const options = await optionsOf(flags);
    if (names.length === 0) {
      begin();
      return await runDemo({ options, view, signal: interrupted.signal, environment });
    }
    const policy = options.policy?.file ?? balanced();
    const requests = await readRequests(names, process.stdin, policy, Date.now());
    for (const line of refusedLines(requests.refused)) process.stderr.write(`${line}\n`);
    if (requests.urls.length === 0) throw new RunFault('there is no URL to fetch');
    begin();
    const { summary, ended } = await runUrls({
      options,
      requests,
      view,
      environment,
      signal: interrupted.signal,
    });
    view.close();
    report(summary, ended, flags.json);
    return ended ? 0 : EXIT_INTERRUPTED;
  } catch (error) {
    view.close();
    process.stderr.write(
      `${pc.red('holdoff run:')} ${error instanceof Error ? error.message : String(error)}\n`,
    );
    return EXIT_FAILED;
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}

function report(summary: RunSummary, ended: boolean, json: boolean): void {
  if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  else
    process.stdout.write(
      `\n${ended ? pc.bold('Every URL has ended.') : pc.bold('Stopped.')}\n\n${printSummary(summary)}\n`,
    );
}

function viewFor(json: boolean): ProgressView {
  if (json) return silentView;
  if (process.stderr.isTTY) return createProgressView(process.stderr);
  return createPlainView(
    (line) => process.stderr.write(`${line}\n`),
    PLAIN_EVERY_MS,
    PLAIN_STILL_EVERY_MS,
    () => performance.now(),
  );
}

async function optionsOf(flags: RunFlags): Promise<RunOptions> {
  return {
    workers: flags.workers,
    concurrency: flags.concurrency,
    redisUrl: flags.redis === undefined ? null : redisUrl(flags.redis),
    deployment: DEFAULT_DEPLOYMENT,
    policy: flags.policy === undefined ? null : await policyOf(flags.policy),
    batch: flags.batch ?? null,
    resultsDir: resolve(flags.out),
    dataDir: resolve(flags.data),
    allowNetworks: flags.allowNetwork.map(network),
    handler: await fileOf('--handler', flags.handler),
    extract: await fileOf('--extract', flags.extract),
    json: flags.json,
    traceHeaders: false,
  };
}

/** Workers would say so too, but in their logs. */
async function fileOf(flag: string, path: string | undefined): Promise<string | null> {
  if (path === undefined) return null;
  await access(path, constants.R_OK).catch((error: NodeJS.ErrnoException) => {
    throw new RunFault(`cannot read the file ${path} of ${flag}: ${error.code ?? error.message}`);
  });
  return resolve(path);
}

async function policyOf(path: string): Promise<NonNullable<RunOptions['policy']>> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new RunFault(`cannot read the policy ${path}: ${error.code ?? error.message}`);
  });
  const parsed = parsePolicyFile(text, path);
  if (parsed.kind === 'invalid')
    throw new RunFault(`the policy is not valid:\n${parsed.problems.map(printProblem).join('\n')}`);
  return { file: parsed.file, text, name: path };
}

function balanced(): NonNullable<RunOptions['policy']>['file'] {
  const parsed = parsePolicyFile('', 'balanced preset');
  if (parsed.kind === 'invalid') throw new Error('the empty policy file must be valid');
  return parsed.file;
}

function refusedLines(refused: readonly RefusedLine[]): string[] {
  const lines = refused
    .slice(0, REFUSED_SHOWN)
    .map(
      ({ place, fault }) =>
        `${pc.yellow('refused')} ${place}: ${fault.field} ${JSON.stringify(fault.value)} ${fault.rule}`,
    );
  const more = refused.length - REFUSED_SHOWN;
  return more > 0 ? [...lines, `${pc.yellow('refused')} ${more} more lines`] : lines;
}

function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}.`);
  };
}

function batchName(text: string): string {
  if (isBatchName(text)) return text;
  throw new InvalidArgumentError('must be 1 to 64 letters, digits, dots, dashes or underscores.');
}

function redisUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'redis:' || url.protocol === 'rediss:')) return text;
  throw new RunFault('--redis must be a URL such as redis://127.0.0.1:6379');
}

function network(text: string): string {
  if (/^[0-9a-fA-F.:]+\/\d{1,3}$/.test(text)) return text;
  throw new RunFault(`--allow-network ${JSON.stringify(text)} must be a network such as 10.0.0.0/8`);
}
