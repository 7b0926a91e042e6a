import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { listOf, type WorkerConfig } from '../config.ts';
import type { EndedUrl, Sink } from '../deliver-result.ts';
import { workerKeys } from '../worker-keys.ts';
import { createFolderSink } from './folder-sink.ts';
import { resultsIdOf } from './results-id.ts';
import { createStreamSink } from './stream-sink.ts';
import { createWarcSink } from './warc-sink.ts';
import { createWebhookSink } from './webhook-sink.ts';

type SinkSettings = Pick<
  WorkerConfig,
  | 'SINKS'
  | 'RESULTS_DIR'
  | 'RESULTS_SYNC'
  | 'HOLDOFF_DEPLOYMENT'
  | 'WORKER_ID'
  | 'USER_AGENT'
  | 'RESULT_BODY_BYTES_MAX'
  | 'STREAM_LENGTH_MAX'
  | 'WARC_FILE_BYTES_MAX'
  | 'WEBHOOK_URL'
  | 'WEBHOOK_SECRET_FILE'
  | 'WEBHOOK_TIMEOUT_MS'
>;

export interface Sinks {
  readonly all: readonly Sink[];
  /** Identity of the places together: another place has none of the pages yet. */
  readonly resultsId: string;
}

/** Shorter secrets can be guessed. */
const SECRET_CHARACTERS_MIN = 16;

/** @throws Error that names the setting when one is missing or bad. */
export async function createSinks(
  config: SinkSettings,
  redis: Redis,
  wallMs: () => number = Date.now,
): Promise<Sinks> {
  const made = await Promise.all(
    [...new Set(listOf(config.SINKS))].map((name) => make(name, config, redis, wallMs)),
  );
  return {
    all: made.map(({ sink }) => sink),
    resultsId: made
      .map(({ id }) => id)
      .toSorted()
      .join('+'),
  };
}

interface Made {
  readonly sink: Sink;
  readonly id: string;
}

async function make(name: string, config: SinkSettings, redis: Redis, wallMs: () => number): Promise<Made> {
  switch (name) {
    case 'folder': {
      const sink = await createFolderSink(config.RESULTS_DIR, config.RESULTS_SYNC === 'on');
      return { sink, id: await resultsIdOf(config.RESULTS_DIR) };
    }
    case 'warc': {
      const folder = join(config.RESULTS_DIR, 'warc');
      await mkdir(folder, { recursive: true });
      const sink = await createWarcSink({
        folder,
        workerId: config.WORKER_ID,
        userAgent: config.USER_AGENT,
        fileBytesMax: config.WARC_FILE_BYTES_MAX,
        sync: config.RESULTS_SYNC === 'on',
        wallMs,
      });
      return { sink, id: await resultsIdOf(folder) };
    }
    case 'stream': {
      const stream = workerKeys(config.HOLDOFF_DEPLOYMENT).results;
      const limits = { lengthMax: config.STREAM_LENGTH_MAX, bodyBytesMax: config.RESULT_BODY_BYTES_MAX };
      return { sink: createStreamSink({ redis, stream, ...limits }), id: 'stream' };
    }
    case 'webhook':
      return webhook(config, redis, wallMs);
    default:
      throw new Error(
        `bad configuration: SINKS: ${JSON.stringify(name)} is none of folder, warc, stream, webhook`,
      );
  }
}

async function webhook(config: SinkSettings, redis: Redis, wallMs: () => number): Promise<Made> {
  const url = URL.parse(config.WEBHOOK_URL);
  if (url === null || !/^https?:$/u.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error('bad configuration: WEBHOOK_URL: must be an http or https URL without user and password');
  const secret = await readFile(config.WEBHOOK_SECRET_FILE, 'utf8').catch((cause: unknown) => {
    throw new Error('bad configuration: WEBHOOK_SECRET_FILE: cannot be read', { cause });
  });
  if (secret.trim().length < SECRET_CHARACTERS_MIN)
    throw new Error(
      `bad configuration: WEBHOOK_SECRET_FILE: must hold at least ${SECRET_CHARACTERS_MIN} characters`,
    );
  const sink = createWebhookSink({
    url: url.href,
    secret: secret.trim(),
    bodyBytesMax: config.RESULT_BODY_BYTES_MAX,
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
    wallMs,
    keepRefused: (ended, status) => keepUndelivered(redis, config.HOLDOFF_DEPLOYMENT, ended, status),
  });
  return { sink, id: `webhook-${createHash('sha256').update(url.href).digest('base64url').slice(0, 16)}` };
}

/** Results that the receiver refused, newest last; the body is not among them. */
const UNDELIVERED_KEPT = 1_000;

async function keepUndelivered(
  redis: Redis,
  deployment: string,
  ended: EndedUrl,
  status: number,
): Promise<void> {
  const { undelivered } = workerKeys(deployment);
  const fields = ['sink', 'webhook', 'status', String(status), 'result', JSON.stringify(ended)];
  await redis.xadd(undelivered, 'MAXLEN', '~', UNDELIVERED_KEPT, '*', ...fields);
}
