import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { GroupCommit } from './group-commit.ts';

interface OpenFile {
  readonly path: string;
  readonly file: FileHandle;
  bytes: number;
}

export interface WarcFileOptions {
  readonly folder: string;
  /** Begins the names of the files; one process each. */
  readonly prefix: string;
  /** A file that has reached this size is closed and the next one begun. */
  readonly fileBytesMax: number;
  /** The bytes that a file begins with. */
  readonly head: (filename: string) => Promise<Uint8Array>;
  readonly wallMs: () => number;
  /** Whether records are synced to the disk before they count as written; false: only a power failure can lose some. */
  readonly sync?: boolean;
}

/**
 * A row of files that records are appended to, written by one process only. The file under work is called
 * `….warc.gz.open`; it loses the last part of its name when it is whole. Records are whole gzip members, so after
 * `kill -9` an open file is readable up to its last whole record.
 */
export class WarcFile {
  readonly #options: WarcFileOptions;
  readonly #commit = new GroupCommit<Uint8Array>((parts) => this.#write(parts));
  #open: OpenFile | undefined;
  #number = 0;

  constructor(options: WarcFileOptions) {
    this.#options = options;
  }

  /** Resolves when the records are on the disk. */
  append(records: Uint8Array): Promise<void> {
    return this.#commit.add(records);
  }

  async close(): Promise<void> {
    await this.#commit.idle();
    await this.#finish();
  }

  async #write(parts: readonly Uint8Array[]): Promise<void> {
    if (this.#open !== undefined && this.#open.bytes >= this.#options.fileBytesMax) await this.#finish();
    this.#open ??= await this.#begin();
    await this.#add(this.#open, Buffer.concat(parts));
  }

  async #begin(): Promise<OpenFile> {
    const { folder, prefix, head, wallMs } = this.#options;
    const stamp = new Date(wallMs())
      .toISOString()
      .replaceAll(/[^0-9]/gu, '')
      .slice(0, 14);
    this.#number += 1;
    const name = `${prefix}-${stamp}-${String(this.#number).padStart(5, '0')}.warc.gz`;
    const path = join(folder, name);
    const begin = await head(name);
    const begun: OpenFile = { path, file: await open(`${path}.open`, 'wx', 0o644), bytes: 0 };
    try {
      await this.#add(begun, begin);
    } catch (error) {
      await begun.file.close();
      await unlink(`${path}.open`).catch(() => undefined);
      throw error;
    }
    return begun;
  }

  /** All or nothing: what a full disk left of a write is cut off again, or the next record could not be read. */
  async #add(target: OpenFile, data: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < data.length;) {
        const { bytesWritten } = await target.file.write(data, done, data.length - done, target.bytes + done);
        done += bytesWritten;
      }
      if (this.#options.sync !== false) await target.file.datasync();
    } catch (error) {
      await target.file.truncate(target.bytes).catch(() => undefined);
      throw error;
    }
    target.bytes += data.length;
  }

  async #finish(): Promise<void> {
    const finished = this.#open;
    if (finished === undefined) return;
    this.#open = undefined;
    await finished.file.close();
    await rename(`${finished.path}.open`, finished.path);
  }
}
