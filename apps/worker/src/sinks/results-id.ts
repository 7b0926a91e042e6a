import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The identity of a results folder, written into it once by the first worker that uses it. What is remembered of
 * pages delivered there is remembered under it, so that an emptied folder is filled again and not answered with
 * "unchanged".
 */
export async function resultsIdOf(folder: string): Promise<string> {
  const path = join(folder, '.results-id');
  try {
    await writeFile(path, `${randomUUID()}\n`, { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return (await readFile(path, 'utf8')).trim();
}
