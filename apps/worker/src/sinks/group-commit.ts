interface Waiter<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Lets many writers share one fsync: what arrives while a write is under way goes out together in the next one.
 * `add` resolves when the write that holds its item is done, and rejects when that write failed.
 */
export class GroupCommit<Item> {
  readonly #write: (items: readonly Item[]) => Promise<void>;
  #queue: Waiter<Item>[] = [];
  #running: Promise<void> | undefined;

  constructor(write: (items: readonly Item[]) => Promise<void>) {
    this.#write = write;
  }

  add(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#write(batch.map((waiter) => waiter.item));
        for (const waiter of batch) waiter.resolve();
      } catch (error) {
        for (const waiter of batch) waiter.reject(error);
      }
    }
    // In the same turn as the look at the queue: an item added in between would wait for the next one to come.
    this.#running = undefined;
  }
}
