import { type FileHandle, open } from 'node:fs/promises';
import { GroupCommit } from './group-commit.ts';

/**
 * An append-only file of lines with group commit. `append` resolves when its line is on the disk; without `sync`,
 * when the system has it, which survives a killed process but not a power failure.
 *
 * Several processes may append to one file: each write is one `write(2)` with O_APPEND, so lines never mix.
 */
export class AppendLog {
  readonly #path: string;
  readonly #sync: boolean;
  readonly #commit = new GroupCommit<string>((lines) => this.#write(lines));
  #file: FileHandle | undefined;
  /** The file ends in half a line: a newline first, so that readers can skip it. */
  #torn = false;

  constructor(path: string, sync = true) {
    this.#path = path;
    this.#sync = sync;
  }

  append(line: string): Promise<void> {
    return this.#commit.add(line);
  }

  async close(): Promise<void> {
    await this.#commit.idle();
    await this.#file?.close();
    this.#file = undefined;
  }

  async #write(lines: readonly string[]): Promise<void> {
    this.#file ??= await this.#open();
    const data = Buffer.from(`${this.#torn ? '\n' : ''}${lines.map((line) => `${line}\n`).join('')}`);
    const { bytesWritten } = await this.#file.write(data);
    if (bytesWritten < data.length) {
      // Half a line would spoil the next one. The lines are written again by their jobs.
      this.#torn = true;
      const cause = new Error(`wrote ${bytesWritten} of ${data.length} bytes`);
      throw Object.assign(cause, { code: 'ENOSPC' });
    }
    this.#torn = false;
    if (this.#sync) await this.#file.datasync();
  }

  /** A process that was killed while it wrote may have left half a line behind. */
  async #open(): Promise<FileHandle> {
    const file = await open(this.#path, 'a+', 0o644);
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    this.#torn = size > 0 && last.toString() !== '\n';
    return file;
  }
}
