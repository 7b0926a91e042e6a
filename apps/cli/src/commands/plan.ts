import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import pc from 'picocolors';
import { PRESET_NAMES, PRESETS } from '@holdoff/throttle-core';
import { resolvePolicy } from '@holdoff/throttle-core/policy-file';
import { type CommandIo, processIo } from '../command-io.ts';
import { decideCase, decisionJson, type NamedPolicy } from '../plan/decide-case.ts';
import { type CaseFault, type PlanCase, readPlanCase } from '../plan/plan-case.ts';
import { printDecision } from '../plan/print-decision.ts';
import { DEMO_CASES, decideShown, selfTest } from '../plan/worked-examples.ts';
import { hostOf, loadPolicyFile } from '../policy/load-policy-file.ts';

interface PlanFlags {
  readonly input?: string;
  readonly json?: true;
  readonly demo?: true;
  readonly selfTest?: true;
  readonly policy?: string;
  readonly url?: string;
  readonly header?: readonly string[];
  readonly [field: string]: unknown;
}

/** Flags that are not fields of a case. */
const OWN_FLAGS = new Set(['input', 'json', 'demo', 'selfTest', 'policy', 'url', 'header']);

const INPUT_CHARACTERS_MAX = 1_048_576;

/** `holdoff plan`: decides one result as a worker would, offline, and says why. */
export function planCommand(io: CommandIo = processIo()): Command {
  return new Command('plan')
    .summary('decide what to do with one result, and say why')
    .description(
      'Decides what one result means for its job and for the fleet, as a worker would, and says why. Offline: sends nothing, reads no Redis.',
    )
    .optionsGroup('The result:')
    .option('--status <status>', 'HTTP status (default: 429)')
    .option('--retry-after <value>', 'the Retry-After header, as it was sent')
    .option('--header <line>', 'another header, "Name: value"; may be repeated', collect)
    .option('--received-at <instant>', 'when it arrived, which is the instant of the decision (default: now)')
    .option('--fault <code>', 'instead of an answer: an error code such as ECONNRESET')
    .option('--redirect-hop <n>', 'the answer is a redirect to be followed, the n-th of its attempt')
    .optionsGroup('The job:')
    .option('--method <method>', 'HTTP method (default: GET)')
    .option('--attempts <n>', 'attempts used, this one included (default: 1)')
    .option('--elapsed <time>', 'age of the job (default: 0)')
    .option('--deadline <time>', 'its whole life, or none (default: from the policy)')
    .option('--throttled-in-run <n>', '429s of this run before this one (default: 0)')
    .option('--deferrals <n>', 'deferrals so far (default: 0)')
    .option('--not-approved', 'the batch is not approved')
    .option('--cancelled', 'the batch was cancelled')
    .optionsGroup('The host and the budgets:')
    .option('--tokens <n>', 'retry tokens the batch has left, or none for no bucket (default: none)')
    .option('--host-tokens <n>', 'retry tokens the host has left, or none (default: none)')
    .option(
      '--hintless-events <n>',
      'throttling events in a row without a wait, before this one (default: 0)',
    )
    .option('--cooldown <time>', "what is left of the host's cooldown (default: 0)")
    .option('--circuit-open <time>', 'how long its circuit stays open (default: 0)')
    .optionsGroup('The policy:')
    .addOption(new Option('--preset <name>', 'preset (default: balanced)').choices(PRESET_NAMES))
    .option('--policy <file>', 'policy file, with --url to say for which host')
    .option('--url <url>', 'the URL whose host the policy is resolved for')
    .option('--max-attempts <n>', 'overrides attempts.max_total; none: no limit')
    .option('--attempt-budget, --per-attempt <time>', 'overrides attempt_budget')
    .option('--headroom <time>', 'overrides headroom')
    .option('--base <time>', 'overrides backoff.base')
    .option('--cap <time>', 'overrides backoff.cap')
    .option('--draw <0..1>', 'the random draw of every jitter (default: 0.5)')
    .optionsGroup('Input and output:')
    .option('--input <file>', 'read the case as JSON from a file, or - for standard input')
    .option('--json', 'print JSON')
    .option('--demo', 'show some decisions')
    .option('--self-test', 'work the published examples anew; exit code 1 if one differs')
    .addHelpText('after', EXAMPLES)
    .action(async (flags: PlanFlags, command: Command) => {
      await plan(io, flags, command);
    });
}

const EXAMPLES = `
A time is seconds (6, 0.5) or has a unit (250ms, 30s, 5m, 6h, 7d).
--input takes one JSON object, or a list of them, with the options' names as keys
(max_attempts, max-attempts and maxAttempts are the same); "headers" maps names to values.
A list is answered by one JSON line each with --json.

Examples:
  holdoff plan --status 429 --retry-after 120
  holdoff plan --preset strict-budget --status 503 --retry-after 6 --attempts 1 \\
    --max-attempts 3 --elapsed 4 --deadline 20 --per-attempt 5 --tokens 20 --base 1 --cap 4
  holdoff plan --policy polite.yaml --url https://shop.example/a --status 429
  echo '{"status": 429, "retry_after": "30", "attempts": 2}' | holdoff plan --input - --json`;

function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

async function plan(io: CommandIo, flags: PlanFlags, command: Command): Promise<void> {
  if (flags.selfTest) return showSelfTest(io, flags.json === true);
  if (flags.demo) return showDemo(io, flags.json === true);
  const written = flags.input === undefined ? [{}] : await readCases(io, flags.input);
  if (written === undefined) return;
  const fromFlags = caseOfFlags(flags, command);
  for (const [index, fields] of written.entries()) {
    const merged = isMapping(fields) ? { ...fields, ...fromFlags } : fields;
    const reading = readPlanCase(merged);
    const place = written.length > 1 ? `case ${index + 1}: ` : '';
    if (reading.kind === 'faults') {
      refuse(io, reading.faults, place, flags.input === undefined);
      continue;
    }
    const base = await policyOf(io, flags, reading.case);
    if (base === undefined) return;
    const decision = decideCase(reading.case, base, reading.case.receivedAt ?? io.nowMs());
    const gap = index > 0 && !flags.json ? '\n' : '';
    const text = flags.json
      ? `${JSON.stringify(decisionJson(decision))}\n`
      : printDecision(decision, io.isColored);
    await io.write(gap + text);
  }
}

/** The flags that were given, as the fields of a case. */
function caseOfFlags(flags: PlanFlags, command: Command): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(flags)) {
    if (OWN_FLAGS.has(name) || command.getOptionValueSource(name) !== 'cli') continue;
    if (name === 'notApproved') fields['approved'] = false;
    else fields[name] = value;
  }
  if (flags.header === undefined) return fields;
  const headers: Record<string, string[]> = {};
  for (const line of flags.header) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(line);
    if (match === null) command.error(`error: --header ${JSON.stringify(line)} must be "Name: value"`);
    const [, name = '', value = ''] = match ?? [];
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value];
  }
  return { ...fields, headers };
}

async function policyOf(io: CommandIo, flags: PlanFlags, asked: PlanCase): Promise<NamedPolicy | undefined> {
  if (flags.policy === undefined) {
    const preset = asked.preset ?? 'balanced';
    return { policy: PRESETS[preset], name: `preset ${preset}` };
  }
  const file = await loadPolicyFile(io, flags.policy);
  if (file === undefined) return undefined;
  if (flags.url === undefined) return { policy: resolvePolicy(file, '').policy, name: flags.policy };
  const host = hostOf(flags.url);
  if (host === undefined) {
    io.writeError(`holdoff plan: --url ${JSON.stringify(flags.url)} must be an absolute URL with a host\n`);
    io.fail(1);
    return undefined;
  }
  const { policy, hostKey } = resolvePolicy(file, host);
  return { policy, name: `${flags.policy} for ${hostKey}` };
}

/** undefined: the input cannot be read, which has been said. */
async function readCases(io: CommandIo, name: string): Promise<readonly unknown[] | undefined> {
  const problem = (text: string): undefined => {
    io.writeError(`holdoff plan: ${name === '-' ? 'standard input' : name} ${text}\n`);
    io.fail(1);
    return undefined;
  };
  const text = name === '-' ? await io.readInput(INPUT_CHARACTERS_MAX) : await readText(name);
  if (typeof text !== 'string') return problem(`cannot be read: ${text.fault}`);
  if (text.length > INPUT_CHARACTERS_MAX) return problem('must be at most 1 MiB long');
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : [parsed];
  } catch {
    return problem('must be a JSON object, or a list of them');
  }
}

async function readText(path: string): Promise<string | { readonly fault: string }> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    return { fault: error instanceof Error ? error.message : 'unknown' };
  }
}

function refuse(io: CommandIo, faults: readonly CaseFault[], place: string, isFromFlags: boolean): void {
  for (const { field, value, rule } of faults) {
    const name = isFromFlags
      ? `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      : field;
    const shown = value === undefined ? '' : `${JSON.stringify(value)} `;
    io.writeError(`holdoff plan: ${place}${name}: ${shown}${rule}\n`);
  }
  io.fail(1);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function showDemo(io: CommandIo, isJson: boolean): Promise<void> {
  const colors = pc.createColors(io.isColored);
  for (const shown of DEMO_CASES) {
    const decision = decideShown(shown, io.nowMs());
    await io.write(
      isJson
        ? `${JSON.stringify({ title: shown.title, ...decisionJson(decision) })}\n`
        : `${colors.bold(colors.underline(shown.title))}\n${printDecision(decision, io.isColored)}\n`,
    );
  }
}

async function showSelfTest(io: CommandIo, isJson: boolean): Promise<void> {
  const colors = pc.createColors(io.isColored);
  const checks = selfTest(io.nowMs());
  const failed = checks.filter(({ isPassed }) => !isPassed).length;
  if (isJson) {
    await io.write(`${JSON.stringify({ passed: checks.length - failed, failed, checks })}\n`);
  } else {
    for (const { title, expected, got, isPassed } of checks) {
      const mark = isPassed ? colors.green('pass') : colors.red('FAIL');
      const detail = isPassed ? got : `${got}, expected ${expected}`;
      await io.write(`  ${mark}  ${title.padEnd(TITLE_WIDTH)}${detail}\n`);
    }
    await io.write(`\n  ${checks.length - failed} passed, ${failed} failed\n`);
  }
  if (failed > 0) io.fail(1);
}

const TITLE_WIDTH = 42;
