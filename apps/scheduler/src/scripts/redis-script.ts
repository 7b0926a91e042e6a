import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** A Lua script of this app. `null` stands for nil and false. */
export type ScriptReply = string | number | null | readonly ScriptReply[];

export class RedisScript {
  readonly #source: string;
  readonly #sha1: string;

  /** @param name of `<name>.lua` in this folder */
  constructor(name: string) {
    this.#source = readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8');
    this.#sha1 = createHash('sha1').update(this.#source).digest('hex');
  }

  /** EVALSHA, and EVAL where the server has lost the script (restart, failover, SCRIPT FLUSH). */
  async run(
    redis: Redis,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<ScriptReply> {
    try {
      return decode(await redis.evalsha(this.#sha1, keys.length, ...keys, ...args));
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return decode(await redis.eval(this.#source, keys.length, ...keys, ...args));
    }
  }
}

function decode(reply: unknown): ScriptReply {
  if (Array.isArray(reply)) return reply.map(decode);
  if (reply === null || typeof reply === 'string' || typeof reply === 'number') return reply;
  throw new TypeError(`unexpected reply of type ${typeof reply}`);
}

/** For the typed wrappers: a reply of another shape is a defect, never data. */
export function asList(reply: ScriptReply | undefined): readonly ScriptReply[] {
  if (typeof reply === 'object' && reply !== null) return reply;
  throw new TypeError(`expected a list, got ${JSON.stringify(reply)}`);
}

export function asText(reply: ScriptReply | undefined): string {
  if (typeof reply === 'string') return reply;
  throw new TypeError(`expected a text, got ${JSON.stringify(reply)}`);
}

export function asNumber(reply: ScriptReply | undefined): number {
  const number = typeof reply === 'number' ? reply : Number(asText(reply));
  if (Number.isFinite(number)) return number;
  throw new TypeError(`expected a number, got ${JSON.stringify(reply)}`);
}
