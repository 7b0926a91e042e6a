import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'node:http';
import got from 'got';
import { inSlots, type Peer, type PeerRun, retryAfterMs } from './peer.ts';

const BACKOFF_ATTEMPTS = 5;
const BACKOFF_BASE_MS = 1_000;

export function gotClient(slots: number) {
  return got.extend({
    agent: { http: new Agent({ keepAlive: true, maxSockets: slots }) },
    retry: { limit: 0 },
    throwHttpErrors: false,
    timeout: { request: 30_000 },
  });
}

/** got by itself: one request per URL, nothing else. What every other path is measured against. */
export const plainGot: Peer = async (run) => {
  const client = gotClient(run.slots);
  await inSlots(run, async (url) => {
    const answer = await client(url, { signal: run.signal }).catch(() => null);
    if (answer !== null || !run.signal.aborted) run.tally.end(answer?.ok === true ? 'served' : 'lost');
  });
};

/** Each URL obeys its own Retry-After in its slot and knows nothing of the others. */
export const gotRetryAfter: Peer = (run) =>
  retrying(run, { attempts: Number.POSITIVE_INFINITY, waitMs: (header) => retryAfterMs(header, 1_000) });

/** Exponential back-off with full jitter, five attempts, the header ignored. */
export const gotBackoff: Peer = (run) =>
  retrying(run, {
    attempts: BACKOFF_ATTEMPTS,
    waitMs: (_header, attempt) => Math.random() * BACKOFF_BASE_MS * 2 ** attempt,
  });

interface Retrying {
  readonly attempts: number;
  readonly waitMs: (retryAfter: string | undefined, attempt: number) => number;
}

async function retrying(run: PeerRun, how: Retrying): Promise<void> {
  const client = gotClient(run.slots);
  await inSlots(run, async (url) => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await client(url, { signal: run.signal }).catch(() => null);
      if (run.signal.aborted) return;
      if (answer?.ok === true) return run.tally.end('served');
      if (attempt >= how.attempts) return run.tally.end('lost');
      const waitMs = how.waitMs(answer?.headers['retry-after'], attempt);
      await sleep(waitMs, undefined, { signal: run.signal }).catch(() => undefined);
      if (run.signal.aborted) return;
    }
  });
}
