import { open } from 'node:fs/promises';

/** As far back as is looked the first time, or after a long time without a look. */
export const LOOKED_BACK_BYTES = 8 * 1_048_576;
/** More than a fleet ends while a dead worker is missed. */
const KEYS_KEPT = 50_000;

/**
 * The keys of the last whole lines of a file of results that several processes append to. Each look reads what was
 * added since the one before, so that asking for every retried URL costs no more than reading the file once.
 */
export class RecentKeys {
  readonly #path: string;
  readonly #keys = new Set<string>();
  #readTo = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  async has(key: string): Promise<boolean> {
    // One after the other, and each begins after it was asked: what is on the disk by now is seen.
    const read = this.#reading.then(() => this.#read());
    this.#reading = read.catch(() => undefined);
    await read;
    return this.#keys.has(key);
  }

  async #read(): Promise<void> {
    const file = await open(this.#path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (file === undefined) return;
    try {
      const { size } = await file.stat();
      // Shorter than before: somebody has put another file there.
      if (size < this.#readTo) this.#readTo = 0;
      const from = Math.max(this.#readTo, size - LOOKED_BACK_BYTES);
      const added = Buffer.alloc(size - from);
      const { bytesRead } = await file.read(added, 0, added.length, from);
      this.#readTo = from + this.#take(added.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  }

  /** Returns the bytes of whole lines: half a line is looked at again when it is whole. */
  #take(added: Buffer): number {
    const whole = added.lastIndexOf('\n') + 1;
    for (const line of added.toString('utf8', 0, whole).split('\n')) {
      const key = keyOf(line);
      if (key !== undefined) this.#keys.add(key);
    }
    for (const oldest of this.#keys) {
      if (this.#keys.size <= KEYS_KEPT) break;
      this.#keys.delete(oldest);
    }
    return whole;
  }
}

/** undefined: no whole line of ours. */
function keyOf(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(line);
    const key = typeof parsed === 'object' && parsed !== null && 'key' in parsed ? parsed.key : undefined;
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}
