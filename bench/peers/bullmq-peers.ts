import { Queue, Worker } from 'bullmq';
import { gotClient } from './got-peers.ts';
import { type Peer, type PeerRun, retryAfterMs } from './peer.ts';

/** Peers of one run share a store. */
const QUEUE = `peer-${process.pid}`;
const ATTEMPTS = 5;

class NotServed extends Error {}

/** The usual set-up: a queue in front of got, five attempts with exponential back-off. */
export const bullmqGot: Peer = (run) => throughQueue(run, async () => undefined);

/** The usual advice against 429s: the whole queue pauses for the Retry-After. The job is not counted as failed. */
export const bullmqPause: Peer = (run) =>
  throughQueue(run, async (queue, status, retryAfter) => {
    if (status !== 429) return;
    await queue.rateLimit(retryAfterMs(retryAfter, 1_000));
    throw Worker.RateLimitError();
  });

async function throughQueue(
  run: PeerRun,
  onRefusal: (queue: Queue, status: number, retryAfter: string | undefined) => Promise<void>,
): Promise<void> {
  const connection = { url: run.redisUrl, maxRetriesPerRequest: null };
  const queue = new Queue(QUEUE, { connection });
  await queue.addBulk(
    run.urls.map((url) => ({
      name: 'page',
      data: { url },
      opts: { attempts: ATTEMPTS, backoff: { type: 'exponential', delay: 1_000 }, removeOnComplete: true },
    })),
  );
  run.begin();
  const stopped = new Promise<void>((resolve) => {
    run.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const client = gotClient(run.slots);
  const worker = new Worker<{ url: string }>(
    QUEUE,
    async (job) => {
      const answer = await client(job.data.url, { signal: run.signal });
      if (answer.ok) return;
      await onRefusal(queue, answer.statusCode, answer.headers['retry-after']);
      throw new NotServed(String(answer.statusCode));
    },
    { connection, concurrency: run.slots },
  );
  worker.on('completed', () => run.tally.end('served'));
  worker.on('failed', (job) => {
    if (job !== undefined && job.attemptsMade >= ATTEMPTS) run.tally.end('lost');
  });
  worker.on('error', () => undefined);
  await Promise.race([run.tally.all(), stopped]);
}
