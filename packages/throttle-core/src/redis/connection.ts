import { Redis } from 'ioredis';

export interface GateConnectionOptions {
  readonly url: string;
  /** A decision that takes longer counts as unavailable. */
  readonly commandDeadlineMs: number;
}

/**
 * A connection for decisions. While Redis is away every command fails at once: a queued or re-sent admission would
 * be answered long after anybody waits for it. It reconnects by itself, for ever.
 */
export function connectGate({ url, commandDeadlineMs }: GateConnectionOptions): Redis {
  return new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandDeadlineMs,
    connectTimeout: 5_000,
    enableReadyCheck: true,
    retryStrategy: (times) => Math.min(2_000, 50 * times),
  });
}

/** Resolves when commands may be sent; rejects after `withinMs`. */
export function gateReady(redis: Redis, withinMs: number): Promise<void> {
  if (redis.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      redis.off('ready', onReady);
      reject(new Error(`no answer from Redis within ${withinMs} ms`));
    }, withinMs);
    redis.once('ready', onReady);
  });
}
