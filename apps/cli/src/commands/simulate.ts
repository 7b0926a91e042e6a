import { readFile } from 'node:fs/promises';
import { idealMs, throttledShare } from '@holdoff/throttle-core/simulate';
import { Command, InvalidArgumentError, Option } from 'commander';
import picocolors from 'picocolors';
import { parse as parseYaml } from 'yaml';
import {
  LIMITER_KINDS,
  ORIGIN_FLAGS,
  type OriginFlags,
  scenarioFromFlags,
} from '../simulate/flags-scenario.ts';
import { playScenario } from '../simulate/play-scenario.ts';
import { printSimulation } from '../simulate/print-simulation.ts';
import { READY_SCENARIOS } from '../simulate/ready-scenarios.ts';
import { type ScenarioFile, type ScenarioInput, parseScenario } from '../simulate/scenario-file.ts';

interface Options extends OriginFlags {
  readonly urls?: number;
  readonly workers?: number;
  readonly concurrency?: number;
  readonly tokens?: number;
  readonly learned?: number;
  readonly policy?: string;
  readonly seed?: number;
  readonly json: boolean;
}

const FILE_BYTES_MAX = 1024 * 1024;

/** `holdoff simulate`: a policy and a fleet against a described origin, in virtual time, without a request. */
export function simulateCommand(print: (text: string) => void): Command {
  return new Command('simulate')
    .summary('play a policy and a fleet in virtual time')
    .description('Plays a policy and a fleet against a described origin in virtual time. Sends nothing.')
    .argument('[scenario]', 'a scenario file (YAML or JSON), or the name of a ready scenario')
    .option('--urls <n>', 'URLs of each host', whole(0))
    .option('--hosts <n>', 'hosts, all alike', whole(1))
    .option('--rate <r>', 'requests per second that a host allows', positive)
    .addOption(new Option('--limiter <kind>', 'how it limits').choices(LIMITER_KINDS))
    .option('--burst <n>', 'requests that it lets through at once', whole(1))
    .option('--window <s>', 'length of its window in seconds', positive)
    .option('--penalty <s>', 'how long it shuts a hasty client out, in seconds', positive)
    .option('--extend <s>', 'what each early request adds to that, in seconds', positive)
    .option('--latency <ms>', 'time to an answer, ms or from-to', range)
    .option('--header <form>', 'how a 429 names its wait: seconds, http_date, ratelimit, absent, …')
    .option('--workers <n>', 'worker processes', whole(1))
    .option('--concurrency <n>', 'URLs that a worker has in hand at a time', whole(1))
    .option('--tokens <n>', 'retry tokens of the batch', whole(0))
    .option('--learned <r>', 'pace per second that the fleet knows from earlier runs', positive)
    .option('--policy <file>', 'a policy file')
    .option('--seed <n>', 'of every random draw', whole(0))
    .option('--json', 'the whole result as one JSON object', false)
    .addHelpText('after', readyHelp())
    .action(async (name: string | undefined, options: Options, command: Command) => {
      const { file, result } = await played(name, options).catch((error: unknown) =>
        command.error(`error: ${error instanceof Error ? error.message : String(error)}`, { exitCode: 2 }),
      );
      if (options.json) {
        print(
          `${JSON.stringify({ ...result, throttledShare: throttledShare(result), idealMs: idealMs(result) })}\n`,
        );
      } else {
        print(printSimulation(file, result, picocolors));
      }
    });
}

async function played(name: string | undefined, options: Options) {
  const file = await scenarioOf(name, options);
  return { file, result: playScenario(file) };
}

async function scenarioOf(name: string | undefined, options: Options): Promise<ScenarioFile> {
  const own = ORIGIN_FLAGS.filter((flag) => options[flag] !== undefined);
  if (name !== undefined && own.length > 0) {
    throw new Error(`--${own.join(', --')} describe an origin, and so does ${name}: give one of them`);
  }
  const label = name ?? (own.length > 0 ? 'flags' : 'cold');
  const base = name === undefined && own.length > 0 ? scenarioFromFlags(options) : await named(label);
  const policy = options.policy === undefined ? base.policy : await readYaml(options.policy);
  return parseScenario(
    {
      ...base,
      ...given('urls', options.urls),
      ...given('tokens', options.tokens),
      ...given('seed', options.seed),
      ...given('learnedPerSecond', options.learned),
      ...given('policy', policy),
      fleet: {
        ...base.fleet,
        ...given('workers', options.workers),
        ...given('concurrency', options.concurrency),
      },
    },
    label,
  );
}

function given<Key extends string, Value>(key: Key, value: Value | undefined): { [name in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [name in Key]?: Value };
}

async function named(name: string): Promise<ScenarioInput> {
  const ready = READY_SCENARIOS[name];
  return ready ?? ((await readYaml(name)) as ScenarioInput);
}

async function readYaml(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const none = `there is no such file; ready scenarios are ${Object.keys(READY_SCENARIOS).join(', ')}`;
    throw new Error(`${path}: ${error.code === 'ENOENT' ? none : `cannot be read (${error.code})`}`);
  });
  if (Buffer.byteLength(text) > FILE_BYTES_MAX) throw new Error(`${path}: larger than 1 MiB`);
  const value = parsed(text, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${path}: must be a mapping`);
  return value;
}

function parsed(text: string, path: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 100 });
  } catch (error) {
    // The rest of the message shows the line once more.
    throw new Error(`${path}: ${error instanceof Error ? error.message.split('\n')[0] : 'not YAML'}`, {
      cause: error,
    });
  }
}

function readyHelp(): string {
  const lines = Object.entries(READY_SCENARIOS).map(([name, { about }]) => `  ${name.padEnd(9)} ${about}`);
  return `\nReady scenarios:\n${lines.join('\n')}\n`;
}

function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(`must be a whole number, at least ${least}`);
    }
    return value;
  };
}

function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0) || !Number.isFinite(value)) throw new InvalidArgumentError('must be a number above 0');
  return value;
}

function range(text: string): readonly [number, number] {
  const [from, to = from, ...rest] = text.split('-').map(Number);
  if (from === undefined || to === undefined || rest.length > 0 || !(from >= 0) || !(to >= from)) {
    throw new InvalidArgumentError('must be ms, or from-to with from not above to');
  }
  return [from, to];
}
