import { Worker } from 'node:worker_threads';
import type { HandlerPage } from './handler-page.ts';
import type { HandlerSource, ThreadMessage } from './handler-thread.ts';
import type { HandlerVerdict } from './handler-verdict.ts';

export interface HandlerPoolOptions {
  readonly source: HandlerSource;
  readonly threads: number;
  /** JavaScript heap of each thread. Buffers lie outside of it. */
  readonly memoryMiB: number;
}

/** How one page fared. */
export type HandlerReply =
  | HandlerVerdict
  /** It threw, took too long, used too much memory or returned what cannot be used. */
  | { readonly kind: 'failed'; readonly fault: string }
  /** The delivery was ended from outside. */
  | { readonly kind: 'cut' }
  /** No thread was free in time: the handler has not seen the page. */
  | { readonly kind: 'crowded' };

/** A page on its way through the pool. */
interface Task {
  readonly page: HandlerPage;
  thread: Thread | null;
  end(reply: HandlerReply): void;
}

/** starting → idle ⇄ busy; → ended from each of them. A thread that ended is replaced by a new one. */
interface Thread {
  readonly worker: Worker;
  isReady: boolean;
  task: Task | null;
  /** Ends a thread that does not get ready. */
  readonly loading: NodeJS.Timeout;
}

const FAULT_CHARACTERS_MAX = 300;
/** How soon a thread is tried again that could not load its handler. */
const RELOAD_AFTER_MS = 2_000;
const READY_WITHIN_MS = 30_000;
// The same name with the extension that this file itself has: sources in tests, compiled in production.
const THREAD_FILE = new URL(`./handler-thread${import.meta.url.slice(-3)}`, import.meta.url);

/**
 * Runs the user's code away from the event loop that serves all other jobs: a handler that computes for seconds, loops
 * for ever or eats memory costs its own page and one thread, which is replaced. One page at a time for each thread;
 * further pages wait in line, on their own budgets.
 */
export class HandlerPool {
  readonly #options: HandlerPoolOptions;
  readonly #threads = new Set<Thread>();
  readonly #line: Task[] = [];
  readonly #reloads = new Set<NodeJS.Timeout>();
  #isClosed = false;

  private constructor(options: HandlerPoolOptions) {
    this.#options = options;
  }

  /** @throws Error when the handler cannot be loaded. */
  static async start(options: HandlerPoolOptions): Promise<HandlerPool> {
    const pool = new HandlerPool(options);
    try {
      await pool.#startFirst();
    } catch (error) {
      await pool.close();
      throw error;
    }
    for (let n = 1; n < options.threads; n += 1) pool.#begin();
    return pool;
  }

  /** Resolves within the budget, whatever the handler does. */
  run(page: HandlerPage, budgetMs: number, signal: AbortSignal): Promise<HandlerReply> {
    return new Promise((resolve) => {
      const task: Task = {
        page,
        thread: null,
        end: (reply) => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          this.#forget(task);
          resolve(reply.kind === 'failed' ? { ...reply, fault: shown(reply.fault) } : reply);
        },
      };
      const stop = (reply: HandlerReply): void => {
        const { thread } = task;
        task.end(reply);
        if (thread !== null) this.#replace(thread);
      };
      const onAbort = (): void => stop({ kind: 'cut' });
      const timer = setTimeout(
        () =>
          stop(
            task.thread === null
              ? { kind: 'crowded' }
              : {
                  kind: 'failed',
                  fault: `it took longer than the ${Math.round(budgetMs)} ms that were left of the attempt`,
                },
          ),
        Math.max(0, budgetMs),
      );
      signal.addEventListener('abort', onAbort, { once: true });
      this.#line.push(task);
      if (signal.aborted) onAbort();
      else this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#reloads) clearTimeout(timer);
    await Promise.all([...this.#threads].map(({ worker }) => worker.terminate()));
  }

  #startFirst(): Promise<void> {
    return new Promise((resolve, reject) => {
      const { worker } = this.#begin();
      const timer = setTimeout(
        () => reject(new Error(`not loaded within ${READY_WITHIN_MS} ms`)),
        READY_WITHIN_MS,
      );
      worker.once('message', (message: ThreadMessage) => {
        clearTimeout(timer);
        if (message.kind === 'broken') reject(new Error(message.fault));
        else resolve();
      });
      worker.once('error', (error) => reject(error));
      worker.once('exit', () => {
        clearTimeout(timer);
        reject(new Error('it ended the thread while it was loaded'));
      });
    });
  }

  #begin(): Thread {
    const { source, memoryMiB } = this.#options;
    const worker = new Worker(THREAD_FILE, {
      workerData: source,
      resourceLimits: { maxOldGenerationSizeMb: memoryMiB },
      execArgv: [],
    });
    const loading = setTimeout(() => this.#replace(thread), READY_WITHIN_MS).unref();
    const thread: Thread = { worker, isReady: false, task: null, loading };
    this.#threads.add(thread);
    let lastFault = 'it ended the thread';
    worker.on('message', (message: ThreadMessage) => {
      if (message.kind === 'ready') {
        thread.isReady = true;
        clearTimeout(loading);
      } else if (message.kind === 'broken') this.#replace(thread);
      else if (message.kind === 'verdict') thread.task?.end(message.verdict);
      else if (message.kind === 'failed') thread.task?.end(message);
      this.#serve();
    });
    worker.on('error', (error) => {
      lastFault =
        'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
          ? `it used more than ${memoryMiB} MiB of memory`
          : `it ended the thread with ${String(error)}`;
    });
    worker.on('exit', () => {
      thread.task?.end({ kind: 'failed', fault: lastFault });
      this.#replace(thread);
    });
    return thread;
  }

  /** Ends a thread and begins another one in its place. */
  #replace(thread: Thread): void {
    if (!this.#threads.delete(thread)) return;
    clearTimeout(thread.loading);
    void thread.worker.terminate();
    if (this.#isClosed) return;
    if (thread.isReady) {
      this.#begin();
      return;
    }
    // The handler cannot be loaded now, for instance while its file is being replaced: not in a tight loop.
    const timer = setTimeout(() => {
      this.#reloads.delete(timer);
      this.#begin();
    }, RELOAD_AFTER_MS);
    timer.unref();
    this.#reloads.add(timer);
  }

  #serve(): void {
    for (const thread of this.#threads) {
      if (!thread.isReady || thread.task !== null) continue;
      const task = this.#line.shift();
      if (task === undefined) return;
      thread.task = task;
      task.thread = thread;
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
      thread.worker.postMessage(task.page);
    }
  }

  #forget(task: Task): void {
    const place = this.#line.indexOf(task);
    if (place >= 0) this.#line.splice(place, 1);
    if (task.thread !== null) task.thread.task = null;
    task.thread = null;
  }
}

/** One line for results and logs. */
function shown(fault: string): string {
  return fault.replaceAll(/\s+/gu, ' ').slice(0, FAULT_CHARACTERS_MAX);
}
