import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, totalmem, type as systemType } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BenchResult } from './bench.ts';
import { ROOT } from './root.ts';

/** One run of one bench, as it is kept. */
export interface KeptResult extends BenchResult {
  readonly bench: string;
  readonly about: string;
  readonly at: string;
  /** Of the checkout; `+` behind it: with changes that are not committed. */
  readonly commit: string;
  readonly machine: string;
  readonly node: string;
  readonly seconds: number;
  /** Processes that wanted a CPU in the minute before the start, for each CPU: above 1 somebody else was at work. */
  readonly loadBefore: number;
}

const RESULTS_FOLDER = join(ROOT, 'bench/results');
const run = promisify(execFile);

export async function keepResult(result: KeptResult): Promise<string> {
  await mkdir(RESULTS_FOLDER, { recursive: true });
  const file = join(RESULTS_FOLDER, `${result.bench}.json`);
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

export async function readResults(): Promise<readonly KeptResult[]> {
  const names = await readdir(RESULTS_FOLDER).catch(() => []);
  const files = names.filter((name) => name.endsWith('.json')).toSorted();
  return Promise.all(
    files.map(async (name) => JSON.parse(await readFile(join(RESULTS_FOLDER, name), 'utf8')) as KeptResult),
  );
}

export function machine(): string {
  const [first] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} x ${first?.model.trim() ?? 'unknown CPU'}, ${memory} GiB, ${systemType()}`;
}

export function loadPerCpu(): number {
  return (loadavg()[0] ?? 0) / cpus().length;
}

export async function commit(): Promise<string> {
  try {
    const { stdout: hash } = await run('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT });
    const { stdout: changes } = await run('git', ['status', '--porcelain'], { cwd: ROOT });
    return hash.trim() + (changes === '' ? '' : '+');
  } catch {
    return 'not a checkout';
  }
}
