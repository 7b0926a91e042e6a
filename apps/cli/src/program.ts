import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { z } from 'zod';
import { planCommand } from './commands/plan.ts';
import { policyCommand } from './commands/policy.ts';
import { enqueueCommand } from './commands/enqueue.ts';
import { retryAfterCommand } from './commands/retry-after.ts';
import { replayCommand } from './commands/replay.ts';
import { runCommand } from './commands/run.ts';
import { batchCommand } from './commands/batch.ts';
import { explainCommand } from './commands/explain.ts';
import { hostCommand } from './commands/host.ts';
import { statusCommand } from './commands/status.ts';
import { stoppedCommand } from './commands/stopped.ts';
import { scheduleCommand } from './commands/schedule.ts';
import { simulateCommand } from './commands/simulate.ts';

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

/** The `holdoff` command: one file per subcommand in commands/, each a function that returns its `Command`. */
export function createProgram(): Command {
  return new Command('holdoff')
    .description('Fetch with permission, and never fight a server that said "wait".')
    .version(version(), '-V, --version', 'print the version')
    .showHelpAfterError('(add --help for the options)')
    .addCommand(runCommand())
    .addCommand(statusCommand())
    .addCommand(explainCommand())
    .addCommand(hostCommand())
    .addCommand(batchCommand())
    .addCommand(stoppedCommand())
    .addCommand(replayCommand())
    .addCommand(scheduleCommand())
    .addCommand(planCommand())
    .addCommand(policyCommand())
    .addCommand(enqueueCommand())
    .addCommand(retryAfterCommand())
    .addCommand(simulateCommand((text) => process.stdout.write(text)));
}
