import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { PageExchange } from '../fetch-page.ts';
import type { WorkerKeys } from '../worker-keys.ts';

/** Longer ones are not kept: the page is then fetched whole each time. */
const VALIDATOR_CHARACTERS_MAX = 1_024;
const VALIDATORS_KEPT_MS = 30 * 86_400_000;

const schema = z.object({
  etag: z.string().max(VALIDATOR_CHARACTERS_MAX).optional(),
  lastModified: z.string().max(VALIDATOR_CHARACTERS_MAX).optional(),
});

/** What tells one version of a page from the next (RFC 9110 §8.8). */
type Validators = Readonly<z.infer<typeof schema>>;

/**
 * Remembers for each URL, over all runs, which version of its page was delivered last, so that the server can
 * answer 304 instead of sending it again. Losing it costs traffic, nothing else: its failures are for the caller to
 * ignore.
 */
export class ValidatorStore {
  readonly #redis: Pick<Redis, 'get' | 'set' | 'del'>;
  readonly #keys: WorkerKeys;
  readonly #keepMs: number;

  constructor(
    redis: Pick<Redis, 'get' | 'set' | 'del'>,
    keys: WorkerKeys,
    keepMs: number = VALIDATORS_KEPT_MS,
  ) {
    this.#redis = redis;
    this.#keys = keys;
    this.#keepMs = keepMs;
  }

  /** Headers that ask for the page only if it is another one than before; none when nothing is known. */
  async conditionalHeaders(
    url: string,
    headersRef: string | null,
  ): Promise<Readonly<Record<string, string>>> {
    const text = await this.#redis.get(this.#keys.validators(url, headersRef));
    const known = text === null ? undefined : decode(text);
    return {
      ...(known?.etag === undefined ? {} : { 'if-none-match': known.etag }),
      // RFC 9110 §13.1.3: ignored by servers that know If-None-Match, useful for those that do not.
      ...(known?.lastModified === undefined ? {} : { 'if-modified-since': known.lastModified }),
    };
  }

  /**
   * To be called after the page has been delivered, never before: a version that is remembered but was lost on
   * its way would be answered with 304 in every later run and never be seen again.
   */
  async delivered(url: string, headersRef: string | null, exchange: PageExchange): Promise<void> {
    const key = this.#keys.validators(url, headersRef);
    if (exchange.status === 304) {
      await this.#touch(key);
      return;
    }
    const validators = validatorsOf(exchange);
    if (validators === undefined) await this.#redis.del(key);
    else await this.#redis.set(key, JSON.stringify(validators), 'PX', this.#keepMs);
  }

  /** A page that is still the same stays remembered. */
  async #touch(key: string): Promise<void> {
    const text = await this.#redis.get(key);
    if (text !== null) await this.#redis.set(key, text, 'PX', this.#keepMs);
  }
}

/**
 * Only a 200 whose page was read is a version that can be asked about: a page that was refused for its type, or
 * only looked up with HEAD, would come back as 304 and never be seen. undefined: nothing to remember.
 */
function validatorsOf(exchange: PageExchange): Validators | undefined {
  const { status, outcome, bodyState } = exchange;
  const read = bodyState === 'complete' || bodyState === 'unknown';
  if (status !== 200 || !read || outcome.stop !== null) return undefined;
  const etag = single(exchange.headers['etag'], /^(?:W\/)?"[\u0021\u0023-\u007e\u0080-\u00ff]*"$/u);
  const lastModified = single(exchange.headers['last-modified'], /^[\u0020-\u007e]+$/u);
  if (etag === undefined && lastModified === undefined) return undefined;
  return {
    ...(etag === undefined ? {} : { etag }),
    ...(lastModified === undefined ? {} : { lastModified }),
  };
}

/** Sent back as it came, so it must be what the grammar allows in a header of ours; of two lines neither is trusted. */
function single(lines: readonly string[] | undefined, grammar: RegExp): string | undefined {
  const [line, second] = lines ?? [];
  const usable = line !== undefined && second === undefined && line.length <= VALIDATOR_CHARACTERS_MAX;
  return usable && grammar.test(line) ? line : undefined;
}

function decode(text: string): Validators | undefined {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
