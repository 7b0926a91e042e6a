#!/usr/bin/env node
import { startWorker } from './start-worker.ts';
import { readConfig } from './config.ts';

try {
  await startWorker(readConfig());
} catch (error) {
  // The logger may not exist yet: one line that says what is wrong, and an exit code that is not zero.
  process.stderr.write(`holdoff worker: ${error instanceof Error ? error.message : String(error)}\n`);
  // Connections that were opened before the fault would keep the process alive, doing nothing.
  process.exit(1);
}
