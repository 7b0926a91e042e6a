import type { Cluster, Redis } from 'ioredis';
import { asGateError } from './gate-unavailable.ts';
import type { Script } from './load-script.ts';

export type ScriptReply = string | number | null | readonly ScriptReply[];
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<ScriptReply>;

/** EVALSHA, and EVAL where the server has lost the script (restart, failover, SCRIPT FLUSH): a script refused so has done nothing. */
export function scriptRunner(redis: Redis | Cluster): RunScript {
  return async (script, keys, args) => {
    try {
      return (await redis.evalsha(script.sha1, keys.length, ...keys, ...args)) as ScriptReply;
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT'))
        throw asGateError(script.name, error);
    }
    try {
      return (await redis.eval(script.source, keys.length, ...keys, ...args)) as ScriptReply;
    } catch (error) {
      throw asGateError(script.name, error);
    }
  };
}
