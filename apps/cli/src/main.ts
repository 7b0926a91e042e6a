#!/usr/bin/env node
import { endsWithPid } from './config.ts';
import { endWithParent } from './end-with-parent.ts';
import { createProgram } from './program.ts';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

if (endsWithPid !== null) endWithParent(endsWithPid);
await createProgram().parseAsync();
