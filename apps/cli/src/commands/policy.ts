import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import pc from 'picocolors';
import {
  hostKeyOf,
  parsePolicyFile,
  type PolicyFile,
  policyJsonSchema,
  resolvePolicy,
  wholeFilePolicy,
} from '@holdoff/throttle-core/policy-file';
import { type CommandIo, processIo } from '../command-io.ts';
import { hostOf, loadPolicyFile } from '../policy/load-policy-file.ts';
import { policyValuesJson, printPolicy } from '../policy/print-policy.ts';

interface CheckFlags {
  readonly url?: string;
  readonly json?: true;
}

/** `holdoff policy`: checks policy files and shows what they mean for a URL. Offline. */
export function policyCommand(io: CommandIo = processIo()): Command {
  const check = new Command('check')
    .summary('check a policy file and show the policy in force')
    .description(
      'Checks a policy file as a whole and prints every value in force with where it comes from: a preset, or a line of the file. Exit code 1 when the file is not valid; then everything wrong with it is listed.',
    )
    .argument('<file>', 'policy file (YAML)')
    .option('--url <url>', 'show the policy for this URL (or hostname) instead of that of the whole file')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Precedence, the strongest first: exact host, longest suffix, group, file, preset.

Examples:
  holdoff policy check polite.yaml
  holdoff policy check polite.yaml --url https://shop.example/a --json`,
    )
    .action(async (path: string, flags: CheckFlags) => {
      await (flags.json ? checkAsJson(io, path, flags.url) : checkForPeople(io, path, flags.url));
    });
  const schema = new Command('schema')
    .summary('print the JSON Schema of policy files, for editors')
    .action(async () => io.write(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`));
  return new Command('policy')
    .summary('check a policy file and show what it means')
    .description('Checks policy files and shows what they mean for a URL. Offline: publishes nothing.')
    .addCommand(check)
    .addCommand(schema);
}

async function checkForPeople(io: CommandIo, path: string, url: string | undefined): Promise<void> {
  const file = await loadPolicyFile(io, path);
  if (file === undefined) return;
  const shown = showFor(file, url);
  if (shown === undefined) return refuseUrl(io, url);
  const colors = pc.createColors(io.isColored);
  const { groups, hosts } = file;
  await io.write(
    `${colors.green('valid')}  ${path}: preset ${file.preset}, ${counted(groups.length, 'group')}, ${counted(hosts.length, 'host entry', 'host entries')}\n`,
  );
  if (shown.hostKey !== null) {
    await io.write(`\n${colors.bold(String(url))}\n  throttled as ${colors.bold(shown.hostKey)}\n`);
  }
  await io.write(`\n${printPolicy(shown.resolved, io.isColored)}`);
}

async function checkAsJson(io: CommandIo, path: string, url: string | undefined): Promise<void> {
  const read = await readFile(path, 'utf8').then(
    (text) => parsePolicyFile(text, path),
    (error: unknown) => ({ kind: 'unreadable' as const, error: String(error) }),
  );
  if (read.kind !== 'ok') {
    const problems = read.kind === 'invalid' ? read.problems : [{ file: path, rule: read.error }];
    await io.write(`${JSON.stringify({ valid: false, problems })}\n`);
    return io.fail(1);
  }
  const shown = showFor(read.file, url);
  if (shown === undefined) return refuseUrl(io, url);
  const { policy, settings } = shown.resolved;
  const answer = {
    valid: true,
    file: path,
    contentHash: read.file.contentHash,
    preset: read.file.preset,
    url: url ?? null,
    hostKey: shown.hostKey,
    values: policyValuesJson(shown.resolved),
    policy,
    settings,
  };
  await io.write(`${JSON.stringify(answer)}\n`);
}

/** undefined: the URL has no host. */
function showFor(file: PolicyFile, url: string | undefined) {
  if (url === undefined) return { hostKey: null, resolved: wholeFilePolicy(file) };
  const host = hostOf(url);
  if (host === undefined || host === '.') return undefined;
  return { hostKey: hostKeyOf(`http://${host}/`, file), resolved: resolvePolicy(file, host) };
}

function refuseUrl(io: CommandIo, url: string | undefined): void {
  io.writeError(`holdoff policy: --url ${JSON.stringify(url)} must be an absolute URL or a hostname\n`);
  io.fail(1);
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
