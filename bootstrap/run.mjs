#!/usr/bin/env node
// From a bare checkout to a running Holdoff, on a machine that has only Node 20, npm and git:
//
//   npm start -- [ARGS]    the `holdoff run` command with ARGS
//   ./holdoff [ARGS]       the `holdoff` command with ARGS
//   npm test -- [LAYERS]   everything that passes before a change lands
//   npm run bench -- [ARGS]
//
// What it brings (pnpm, Node 24, the dependencies, the build, a Redis binary) lies in the checkout, except for the
// system's Redis package. Runs on the machine's own Node, so: plain JavaScript, no dependencies, no syntax newer
// than Node 20.
import { existsSync } from 'node:fs';
import { runInOurPlace } from './child.mjs';
import { ensureRedis } from './redis-binary.mjs';
import { Failure, sayFailure } from './say.mjs';
import { prepare } from './steps.mjs';
import { runTests } from './tests.mjs';
import { at } from './workspace.mjs';

const COMMANDS = {
  // npm runs us in the checkout and says where the user stands.
  start: (args) => holdoff(['run', ...args], process.env.INIT_CWD ?? process.cwd()),
  holdoff: (args) => holdoff(args, process.cwd()),
  test: runTests,
  bench: async (args) => {
    if (!existsSync(at('bench/main.ts'))) throw new Failure('there is no bench/main.ts.');
    await prepare();
    await ensureRedis();
    return runInOurPlace(at('node_modules/node/bin/node'), [at('bench/main.ts'), ...args], { cwd: at('.') });
  },
};

async function holdoff(args, cwd) {
  await prepare();
  if (args[0] === 'run' && needsLocalRedis(args)) await ensureRedis();
  return runInOurPlace(at('node_modules/node/bin/node'), [at('apps/cli/dist/main.js'), ...args], { cwd });
}

/** A run that is told which Redis to use, or only prints help, needs no binary of its own. */
function needsLocalRedis(args) {
  return !args.some((argument) => /^(--redis(=.*)?|--help|-h|--version|-V)$/.test(argument));
}

async function main([name, ...args]) {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) {
    throw new Failure(`Node ${process.versions.node} is too old to begin with.`, {
      advice: 'Install Node 20 or newer.',
    });
  }
  const command = COMMANDS[name];
  if (command === undefined) {
    throw new Failure(`unknown command ${JSON.stringify(name ?? '')}.`, {
      advice: `Commands: ${Object.keys(COMMANDS).join(', ')}.`,
    });
  }
  return command(args);
}

// Ctrl-C during a step: leave through `exit`, so that locks and the like are put back.
const leave = (signal) => process.exit(signal === 'SIGINT' ? 130 : 143);
process.on('SIGINT', leave);
process.on('SIGTERM', leave);

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  sayFailure(error);
  process.exitCode = error.exitCode;
}
