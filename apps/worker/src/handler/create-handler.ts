import { resolve } from 'node:path';
import type { WorkerConfig } from '../config.ts';
import { readExtractionRules } from './extraction-rules.ts';
import { HandlerPool } from './handler-pool.ts';
import type { HandlerSource } from './handler-thread.ts';

/** Jobs that share one handler thread when the number of threads is not given. */
const JOBS_PER_THREAD = 16;

type HandlerSettings = Pick<
  WorkerConfig,
  'HANDLER' | 'EXTRACT' | 'HANDLER_THREADS' | 'HANDLER_MEMORY_MIB' | 'WORKER_CONCURRENCY'
>;

/** null: pages are not looked into. @throws Error that names the setting and what is wrong with it. */
export async function createHandler(config: HandlerSettings): Promise<HandlerPool | null> {
  if (config.HANDLER !== '' && config.EXTRACT !== '')
    throw new Error('bad configuration: HANDLER and EXTRACT: only one of them can look into a page');
  const source = await sourceOf(config);
  if (source === null) return null;
  const threads = config.HANDLER_THREADS || Math.ceil(config.WORKER_CONCURRENCY / JOBS_PER_THREAD);
  try {
    return await HandlerPool.start({ source, threads, memoryMiB: config.HANDLER_MEMORY_MIB });
  } catch (cause) {
    const setting = source.kind === 'module' ? 'HANDLER' : 'EXTRACT';
    const fault = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`bad configuration: ${setting}: ${fault}`, { cause });
  }
}

async function sourceOf({ HANDLER, EXTRACT }: HandlerSettings): Promise<HandlerSource | null> {
  if (HANDLER !== '') return { kind: 'module', path: resolve(HANDLER) };
  if (EXTRACT !== '') return { kind: 'extraction', rules: await readExtractionRules(EXTRACT) };
  return null;
}
