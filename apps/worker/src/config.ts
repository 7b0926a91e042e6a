import { hostname } from 'node:os';
import { z } from 'zod';
import { readSettings, STORE_SETTINGS, WATCHING_SETTINGS, wholeNumber } from '@holdoff/service-runtime';
import { FAIL_POINTS, FAIL_SIGNALS } from './fail-point.ts';
import { productTokenOf } from './robots/product-token.ts';

/** Settings of one worker process, read once. Each field: meaning, unit, default. */
export const workerConfigSchema = z.object({
  ...STORE_SETTINGS,
  WORKER_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .default(`${hostname()}-${process.pid}`)
    .describe('Name of this process in logs and results'),
  WORKER_CONCURRENCY: wholeNumber(1, 1_000).default(50).describe('Jobs that this process works on at once'),
  SINKS: z
    .string()
    .regex(/^(folder|warc|stream|webhook)(,(folder|warc|stream|webhook))*$/)
    .default('folder')
    .describe('Where results go, all of them: folder, warc, stream, webhook, comma-separated'),
  RESULTS_SYNC: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      'Sync each result to the disk before its URL ends; off: faster, a power failure can lose the last seconds',
    ),
  RESULTS_DIR: z
    .string()
    .min(1)
    .default('./results')
    .describe('Folder for results.jsonl and the bodies; WARC files go to its folder warc'),
  RESULT_BODY_BYTES_MAX: wholeNumber(0, 16_777_216)
    .default(65_536)
    .describe('Largest body that the sinks stream and webhook send along, bytes'),
  STREAM_LENGTH_MAX: wholeNumber(1, 10_000_000)
    .default(10_000)
    .describe('Results kept in the stream; older ones are dropped, read or not'),
  WARC_FILE_BYTES_MAX: wholeNumber(1, 100_000_000_000)
    .default(1_000_000_000)
    .describe('Size from which a WARC file is finished and the next one begun, bytes'),
  WEBHOOK_URL: z.string().default('').describe('Address that the sink webhook posts results to'),
  WEBHOOK_SECRET_FILE: z
    .string()
    .default('')
    .describe('File with the secret that webhook messages are signed with'),
  WEBHOOK_TIMEOUT_MS: wholeNumber(100, 60_000)
    .default(5_000)
    .describe('How long one webhook request may take, ms'),
  HANDLER: z
    .string()
    .default('')
    .describe('ES module (.js, .mjs, .ts) whose default function looks into each page; empty: none'),
  EXTRACT: z
    .string()
    .default('')
    .describe('YAML or JSON file of fields to take out of each page by CSS selectors; empty: none'),
  HANDLER_THREADS: wholeNumber(0, 64)
    .default(0)
    .describe('Threads for the handler or the extraction; 0: one for 16 jobs of WORKER_CONCURRENCY'),
  HANDLER_MEMORY_MIB: wholeNumber(16, 65_536)
    .default(256)
    .describe('JavaScript heap of one handler thread, MiB'),
  FOLLOW_MAX: wholeNumber(0, 10_000_000).default(100_000).describe('URLs that handlers may add to one batch'),
  ALLOW_NETWORKS: z
    .string()
    .default('')
    .describe('Private networks that may be fetched from: CIDRs, comma-separated; none by default'),
  ALLOW_PORTS: z
    .string()
    .regex(/^(\d{1,5}(,\d{1,5})*)?$/)
    .default('')
    .describe('Ports allowed besides 80 and 443, comma-separated'),
  PROXIES_FILE: z
    .string()
    .default('')
    .describe('JSON file of the proxy pools that policies name; credentials by reference'),
  USER_AGENT: z
    .string()
    .min(1)
    .max(256)
    .regex(/^[\x20-\x7e]+$/)
    .refine((agent) => productTokenOf(agent) !== null, {
      error: 'must begin with a name that robots.txt files can use, such as AcmeBot/1.0',
    })
    .default('Holdoff/0.1 (+https://github.com/holdoff/holdoff)')
    .describe('User-Agent of every request; its name is the one that robots.txt files know; name a contact'),
  HEADERS_FILE: z
    .string()
    .default('')
    .describe('JSON file with the header sets that jobs name by reference; empty: none'),
  SHUTDOWN_GRACE_MS: wholeNumber(0, 600_000)
    .default(10_000)
    .describe('How long requests in flight may finish after SIGTERM, ms'),
  LOCK_MS: wholeNumber(2_000, 600_000)
    .default(30_000)
    .describe("The queue's lock on a job; a dead worker's jobs come back after it, ms"),
  STALLED_CHECK_MS: wholeNumber(500, 600_000)
    .default(10_000)
    .describe('How often dead jobs are looked for; the same in the whole fleet, ms'),
  CLOCK_SKEW_MAX_MS: wholeNumber(100, 60_000)
    .default(1_000)
    .describe("Difference to Redis' clock at which this worker pauses, ms"),
  TRACE_HEADERS: z
    .enum(['on', 'off'])
    .default('off')
    .describe(
      'Send x-holdoff-job, -attempt and -admitted-at along, for an origin of your own that checks the fleet',
    ),
  STOPPED_KEPT: wholeNumber(100, 10_000_000)
    .default(100_000)
    .describe(
      'Stopped jobs kept in Redis for holdoff stopped and holdoff replay, the newest; about half a kilobyte each',
    ),
  CRASH_AT: z
    .enum(['off', ...FAIL_POINTS])
    .default('off')
    .describe(
      'For tests only: where this process sends itself CRASH_SIGNAL, the first time that it comes there',
    ),
  CRASH_SIGNAL: z.enum(FAIL_SIGNALS).default('SIGKILL').describe('For tests only: what CRASH_AT sends'),
  ...WATCHING_SETTINGS,
});

export type WorkerConfig = Readonly<z.infer<typeof workerConfigSchema>>;

/** @throws Error that names each bad setting and what it must be, never its value. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): WorkerConfig {
  return readSettings(workerConfigSchema, environment);
}

/** Variables that a proxy's credentials are read from, by the name that PROXIES_FILE gives. */
export function credentialVariables(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** The entries of a comma-separated setting. */
export function listOf(setting: string): string[] {
  return setting
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
