import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

const ENDS_WITHIN_MS = 15_000;
const TAIL_LINES = 20;
/** Linux counts a process's CPU time in ticks of 10 ms on every architecture that Node runs on. */
const TICK_SECONDS = 0.01;

export interface ChildOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  /** Its output goes to this file, as a service's does, and costs the bench nothing; `line` sees none of it. */
  readonly outputFile?: string;
}

/** A Node process of a bench: its lines, its CPU time, its end. */
export class Child {
  readonly #process: ChildProcess;
  readonly #what: string;
  readonly #tail: string[] = [];
  readonly #waiting: { readonly wanted: (line: string) => boolean; readonly take: (line: string) => void }[] =
    [];
  readonly #exit: Promise<number>;

  constructor(what: string, options: ChildOptions) {
    this.#what = what;
    const output = options.outputFile === undefined ? 'pipe' : openSync(options.outputFile, 'a');
    this.#process = spawn(process.execPath, options.args, {
      env: { ...process.env, ...options.env },
      stdio: ['pipe', output, output],
    });
    if (typeof output === 'number') closeSync(output);
    this.#process.stdin?.on('error', () => undefined);
    this.#process.stdin?.end(options.input ?? '');
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (line) => this.#read(line));
    }
    this.#exit = once(this.#process, 'exit').then(([code]) => (typeof code === 'number' ? code : 1));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The first line from now on that `wanted` accepts. Rejects when the process ends first, or too late. */
  async line(wanted: (line: string) => boolean, withinMs: number): Promise<string> {
    const found = new Promise<string>((resolve) => {
      this.#waiting.push({ wanted, take: resolve });
    });
    const ended = this.#exit.then((code) => {
      throw new Error(`${this.#what} ended with ${code}:\n${this.#tail.join('\n')}`);
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${this.#what} said nothing for ${withinMs} ms:\n${this.#tail.join('\n')}`)),
        withinMs,
      );
    });
    try {
      return await Promise.race([found, ended, late]);
    } finally {
      clearTimeout(timer);
      ended.catch(() => undefined);
    }
  }

  /** User and system time so far, s; null where the system does not tell. */
  async cpuSeconds(): Promise<number | null> {
    const stat = await readFile(`/proc/${this.pid}/stat`, 'utf8').catch(() => null);
    if (stat === null) return null;
    // The second field is the name in parentheses and may hold spaces; fields 14 and 15 are the times.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_SECONDS;
  }

  /** Resident memory, bytes; null where the system does not tell. */
  async rssBytes(): Promise<number | null> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8').catch(() => null);
    const kilobytes = status?.match(/^VmRSS:\s+(\d+) kB$/m)?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  }

  get alive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Asks it to end; kills it when it does not. */
  async stop(): Promise<void> {
    if (!this.alive) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), ENDS_WITHIN_MS);
    await this.#exit;
    clearTimeout(timer);
  }

  #read(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    for (const [at, waiter] of this.#waiting.entries()) {
      if (!waiter.wanted(line)) continue;
      this.#waiting.splice(at, 1);
      waiter.take(line);
      return;
    }
  }
}
