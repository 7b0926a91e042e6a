import { randomUUID } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The identity of a results folder, written into it once by the first worker that uses it. What is remembered of
 * pages delivered there is remembered under it, so that an emptied folder is filled again and not answered with
 * "unchanged". Written aside and linked: of workers that start together nobody reads half of it.
 */
export async function resultsIdOf(folder: string): Promise<string> {
  const path = join(folder, '.results-id');
  const aside = `${path}.${randomUUID()}.part`;
  await writeFile(aside, `${randomUUID()}\n`, { flag: 'wx' });
  try {
    await link(aside, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await unlink(aside);
  }
  const id = (await readFile(path, 'utf8')).trim();
  if (id === '') throw new Error(`${path} is empty: remove it, and the folder gets a new identity`);
  return id;
}
