import { access, readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { Command } from 'commander';
import pc from 'picocolors';
import {
  firingsAfter,
  localDate,
  parseScheduleFile,
  printScheduleProblem,
  runNameOf,
  type Schedule,
} from '@holdoff/url-job/schedule-file';
import { type CommandIo, processIo } from '../command-io.ts';

const FIRINGS_SHOWN = 3;

interface CheckedSchedule {
  readonly name: string;
  readonly firings: readonly { readonly at: string; readonly local: string; readonly batch: string }[];
  /** What would keep its next run from being made; null: nothing that can be seen from here. */
  readonly problem: string | null;
}

/** `holdoff schedule`: recurring work. */
export function scheduleCommand(io: CommandIo = processIo()): Command {
  return new Command('schedule').summary('check a file of recurring work').addCommand(
    new Command('check')
      .description('Checks a schedule file and prints the next three firings of each schedule.')
      .argument('<file>', 'schedule file, as SCHEDULES_FILE of the scheduler names it')
      .option('--json', 'print one JSON object', false)
      .addHelpText('after', '\nExample:\n  holdoff schedule check schedules.yaml')
      .action((path: string, flags: { readonly json: boolean }) => check(io, path, flags.json)),
  );
}

async function check(io: CommandIo, path: string, json: boolean): Promise<void> {
  const colors = pc.createColors(io.isColored);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    io.writeError(`${colors.red('error')} ${path} cannot be read (${code})\n`);
    io.fail(1);
    return;
  }
  const parsed = parseScheduleFile(text, basename(path));
  if (parsed.kind === 'invalid') {
    for (const problem of parsed.problems)
      io.writeError(`${colors.red('error')} ${printScheduleProblem(problem)}\n`);
    io.fail(1);
    return;
  }
  const checked: CheckedSchedule[] = [];
  for (const schedule of parsed.schedules)
    checked.push(await checkSchedule(schedule, dirname(resolve(path)), io.nowMs()));
  if (checked.some(({ problem }) => problem !== null)) io.fail(1);
  if (json) {
    await io.write(`${JSON.stringify({ schedules: checked })}\n`);
    return;
  }
  if (checked.length === 0) await io.write('no schedules\n');
  for (const { name, firings, problem } of checked) {
    await io.write(`${name}\n`);
    for (const { at, local, batch } of firings) await io.write(`  ${local}  ${colors.dim(at)}  ${batch}\n`);
    if (problem !== null) io.writeError(`${colors.red('error')} ${name}: ${problem}\n`);
  }
}

async function checkSchedule(schedule: Schedule, folder: string, nowMs: number): Promise<CheckedSchedule> {
  const { name, zone, list } = schedule;
  const firings = firingsAfter(schedule, nowMs, FIRINGS_SHOWN).map((firingMs) => ({
    at: new Date(firingMs).toISOString().replace('.000Z', 'Z'),
    local: `${localDate(zone, firingMs)} ${localTime(zone, firingMs)} ${zone}`,
    batch: runNameOf(name, firingMs),
  }));
  // A list with a date in its name may well be written on that day.
  const isFixed = list !== undefined && !list.includes('{date}');
  const problem = isFixed ? await unreadable(resolve(folder, list)) : null;
  return { name, firings, problem };
}

async function unreadable(path: string): Promise<string | null> {
  return access(path).then(
    () => null,
    () => `its list ${path} cannot be read`,
  );
}

function localTime(zone: string, atMs: number): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(
    new Date(atMs),
  );
}
