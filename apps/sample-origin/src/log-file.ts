import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import type { SeenRequest } from './request-log.ts';

/** A disk that cannot follow costs lines, never the memory of the run. */
const BUFFERED_BYTES_MOST = 64 * 1024 ** 2;

/** Appends one JSON line for each ended exchange. */
export class LogFile {
  readonly #stream: WriteStream;
  #dropped = 0;
  #fault: Error | null = null;

  private constructor(stream: WriteStream) {
    this.#stream = stream;
    stream.on('error', (error) => {
      this.#fault = error;
    });
  }

  /** Rejects when the file cannot be opened. */
  static async open(path: string): Promise<LogFile> {
    const stream = createWriteStream(path, { flags: 'a' });
    await once(stream, 'open');
    return new LogFile(stream);
  }

  write(entry: SeenRequest): void {
    if (this.#fault !== null || this.#stream.writableLength > BUFFERED_BYTES_MOST) {
      this.#dropped += 1;
      return;
    }
    this.#stream.write(`${JSON.stringify(entry)}\n`);
  }

  get droppedCount(): number {
    return this.#dropped;
  }

  async close(): Promise<void> {
    if (this.#fault !== null) return;
    await new Promise<void>((resolve) => {
      this.#stream.once('error', () => resolve());
      this.#stream.end(resolve);
    });
  }
}
