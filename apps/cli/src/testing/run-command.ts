import { Command } from 'commander';
import type { CommandIo } from '../command-io.ts';

/** The instant at which commands run in tests. */
const TEST_NOW_MS = Date.UTC(2026, 0, 15, 12);

export interface CommandRun {
  readonly out: string;
  readonly error: string;
  readonly exitCode: number;
}

/** Runs a command as `main.ts` does, with everything around it given. */
export async function runCommandForTest(
  make: (io: CommandIo) => Command,
  args: readonly string[],
  { input = '', isColored = false }: { readonly input?: string; readonly isColored?: boolean } = {},
): Promise<CommandRun> {
  const out: string[] = [];
  const errors: string[] = [];
  let exitCode = 0;
  const command = make({
    write: (text) => {
      out.push(text);
      return Promise.resolve();
    },
    writeError: (text) => errors.push(text),
    readInput: () => Promise.resolve(input),
    nowMs: () => TEST_NOW_MS,
    isColored,
    fail: (code) => {
      exitCode = code;
    },
  });
  command
    .exitOverride()
    .configureOutput({ writeErr: (text) => errors.push(text), writeOut: (text) => out.push(text) });
  try {
    await new Command('holdoff').addCommand(command).parseAsync([command.name(), ...args], { from: 'user' });
  } catch (error) {
    exitCode = (error as { readonly exitCode: number }).exitCode;
  }
  return { out: out.join(''), error: errors.join(''), exitCode };
}
