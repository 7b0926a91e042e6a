import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Building images from nothing on a slow machine. */
const COMMAND_MS_MAX = 20 * 60_000;

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ComposeProjectOptions {
  /** Unlike any other on the machine: containers, networks and volumes carry it. */
  readonly name: string;
  readonly files: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** A compose project of its own, driven by the same commands that a user types. */
export class ComposeProject {
  readonly #options: ComposeProjectOptions;
  readonly #compose: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(options: ComposeProjectOptions, compose: readonly string[], buildKit: boolean) {
    this.#options = options;
    this.#compose = compose;
    this.#environment = {
      ...options.environment,
      DOCKER_BUILDKIT: buildKit ? '1' : '0',
      COMPOSE_DOCKER_CLI_BUILD: '1',
    };
  }

  static async open(options: ComposeProjectOptions): Promise<ComposeProject> {
    const plugin = await run('docker', ['compose', 'version'], {});
    const compose = plugin.code === 0 ? ['docker', 'compose'] : ['docker-compose'];
    return new ComposeProject(options, compose, await hasBuildKit());
  }

  /** A compose command; rejects with its output unless it exits with 0. */
  async compose(...args: readonly string[]): Promise<string> {
    const files = this.#options.files.flatMap((file) => ['-f', file]);
    const [command = '', ...first] = this.#compose;
    return this.#must(command, [...first, '-p', this.#options.name, ...files, ...args]);
  }

  async docker(...args: readonly string[]): Promise<string> {
    return this.#must('docker', args);
  }

  /** `redis-cli` inside the store's container, as the README shows it. */
  async redisCli(...args: readonly string[]): Promise<string> {
    return (await this.compose('exec', '-T', 'valkey', 'redis-cli', ...args)).trim();
  }

  /** Many commands at once, as `redis-cli < commands` takes them: one reply per line. */
  async redisCommands(commands: readonly string[]): Promise<readonly string[]> {
    const [store = ''] = await this.containers('valkey');
    const input = `${commands.join('\n')}\n`;
    const { code, stdout, stderr } = await run('docker', ['exec', '-i', store, 'redis-cli'], {}, input);
    if (code !== 0) throw new Error(`redis-cli: exit ${code}\n${stderr}`);
    return stdout.trim().split('\n');
  }

  /** Ids of a service's containers, running or not. */
  async containers(service: string): Promise<readonly string[]> {
    const listed = await this.docker(
      'ps',
      '-aq',
      '--no-trunc',
      '--filter',
      `label=com.docker.compose.project=${this.#options.name}`,
      '--filter',
      `label=com.docker.compose.service=${service}`,
    );
    return listed.split('\n').filter(Boolean);
  }

  async inspect<T>(container: string, path: string): Promise<T> {
    return JSON.parse(await this.docker('inspect', '--format', `{{json ${path}}}`, container)) as T;
  }

  /** Runs a script in the Node of a service's container. */
  async node(container: string, script: string): Promise<string> {
    return (await this.docker('exec', container, 'node', '--input-type=module', '-e', script)).trim();
  }

  volume(name: string): string {
    return `${this.#options.name}_${name}`;
  }

  async logs(): Promise<string> {
    return this.compose('logs', '--no-color', '--tail=60').catch((error: unknown) => String(error));
  }

  /** Takes everything away: containers, networks, volumes. */
  async remove(): Promise<void> {
    await this.compose('down', '--volumes', '--remove-orphans', '--timeout', '5');
  }

  async #must(command: string, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(command, args, this.#environment);
    if (code !== 0)
      throw new Error(`${command} ${args.join(' ')}: exit ${code}\n${stdout}\n${stderr}`.slice(-8_000));
    return stdout;
  }
}

/** The plugin of a current client, or what an older client (before 23) has built in. */
async function hasBuildKit(): Promise<boolean> {
  if ((await run('docker', ['buildx', 'version'], {})).code === 0) return true;
  const { stdout } = await run('docker', ['version', '--format', '{{.Client.Version}}'], {});
  return Number.parseInt(stdout, 10) < 23;
}

function run(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  input = '',
): Promise<Result> {
  return new Promise((resolve) => {
    const options = {
      cwd: root,
      env: { ...process.env, ...environment },
      maxBuffer: OUTPUT_BYTES_MAX,
      timeout: COMMAND_MS_MAX,
    };
    const child = execFile(command, [...args], options, (error, stdout, stderr) => {
      resolve({
        code: error === null ? 0 : (child.exitCode ?? 127),
        stdout,
        stderr: stderr || (error?.message ?? ''),
      });
    });
    // A command that ends early does not read its input; its exit code says so.
    child.stdin?.on('error', () => undefined).end(input);
  });
}

/** Asks until `ready` says yes. Rejects with the last answer. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T>,
  ready: (answer: T) => boolean,
  withinMs: number,
): Promise<T> {
  const giveUpAtMs = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (ready(answer)) return answer;
    if (performance.now() > giveUpAtMs) {
      throw new Error(`${what}: not within ${withinMs} ms; last: ${JSON.stringify(answer)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
