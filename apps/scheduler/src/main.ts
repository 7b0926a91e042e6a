import { createLogger } from '@holdoff/service-runtime';
import { readConfig } from './config.ts';
import { startScheduler } from './start-scheduler.ts';

try {
  await startScheduler(readConfig());
} catch (error) {
  const logger = createLogger({ service: 'scheduler', instance: String(process.pid), level: 'fatal' });
  logger.fatal(`cannot start: ${error instanceof Error ? error.message : 'unknown'}`);
  logger.flush();
  process.exit(1);
}
