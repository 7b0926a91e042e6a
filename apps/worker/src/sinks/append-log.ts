import { type FileHandle, open } from 'node:fs/promises';

interface Waiter {
  readonly line: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * An append-only file of lines with group commit: lines that arrive while a write is under way go out
 * together in the next one, with one fsync for all. `append` resolves when its line is on the disk.
 *
 * Several processes may append to one file: each write is one `write(2)` with O_APPEND, so lines never mix.
 */
export class AppendLog {
  readonly #path: string;
  #file: FileHandle | undefined;
  #queue: Waiter[] = [];
  #flushing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  append(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ line, resolve, reject });
      this.#flushing ??= this.#flush().finally(() => {
        this.#flushing = undefined;
      });
    });
  }

  async close(): Promise<void> {
    await this.#flushing;
    await this.#file?.close();
    this.#file = undefined;
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        this.#file ??= await open(this.#path, 'a', 0o644);
        await writeWhole(this.#file, batch.map((waiter) => `${waiter.line}\n`).join(''));
        await this.#file.datasync();
        for (const waiter of batch) waiter.resolve();
      } catch (error) {
        for (const waiter of batch) waiter.reject(error);
      }
    }
  }
}

/**
 * One write, and the file as it was if the disk had no room for all of it: half a line would spoil the next.
 */
async function writeWhole(file: FileHandle, text: string): Promise<void> {
  const data = Buffer.from(text);
  const { bytesWritten } = await file.write(data);
  if (bytesWritten === data.length) return;
  // A newline ends the torn line, so that readers can skip it; the lines are written again by their jobs.
  await file.write('\n').catch(() => undefined);
  throw Object.assign(new Error(`wrote ${bytesWritten} of ${data.length} bytes`), { code: 'ENOSPC' });
}
