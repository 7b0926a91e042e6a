#!/usr/bin/env node
import { once } from 'node:events';
import { buildProgram } from './program.ts';

const asked = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);

try {
  await buildProgram({ print: (text) => process.stdout.write(text), asked }).parseAsync();
} catch (error) {
  process.stderr.write(`sample-origin: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
