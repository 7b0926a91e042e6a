import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const schema = z.record(
  z.string(),
  z.object({ batch: z.string(), finished: z.boolean(), startedAt: z.string() }),
);
type Records = z.infer<typeof schema>;

/**
 * Which batch a list of URLs runs under, kept in the data folder: the same list again goes on with an
 * unfinished run, and starts a new one after a finished one.
 */
export class RunRecords {
  readonly #path: string;
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = dataDir;
    this.#path = join(dataDir, 'runs.json');
  }

  /** Returns the batch to use, and whether an earlier run is being resumed. */
  async begin(listKey: string, now: Date): Promise<{ readonly batch: string; readonly resumed: boolean }> {
    const records = await this.#read();
    const known = records[listKey];
    if (known !== undefined && !known.finished) return { batch: known.batch, resumed: true };
    const batch = `run-${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-')}-${listKey.slice(0, 6)}`;
    await this.#write({ ...records, [listKey]: { batch, finished: false, startedAt: now.toISOString() } });
    return { batch, resumed: false };
  }

  async finish(listKey: string): Promise<void> {
    const records = await this.#read();
    const known = records[listKey];
    if (known !== undefined) await this.#write({ ...records, [listKey]: { ...known, finished: true } });
  }

  async #read(): Promise<Records> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}');
    try {
      return schema.parse(JSON.parse(text));
    } catch {
      // A torn or foreign file costs the memory of old runs, nothing else.
      return {};
    }
  }

  async #write(records: Records): Promise<void> {
    await mkdir(this.#folder, { recursive: true });
    const aside = `${this.#path}.part`;
    await writeFile(aside, `${JSON.stringify(records, null, 2)}\n`);
    await rename(aside, this.#path);
  }
}

/** The identity of a list: its distinct URLs, whatever their order. */
export function listKeyOf(urls: Iterable<string>): string {
  const hash = createHash('sha256');
  for (const url of [...new Set(urls)].toSorted()) hash.update(url).update('\n');
  return hash.digest('hex').slice(0, 16);
}
