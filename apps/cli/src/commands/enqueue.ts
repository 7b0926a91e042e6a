import type { Readable } from 'node:stream';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { redactText } from '@holdoff/service-runtime';
import { DEFAULT_BATCH, DEFAULT_DEPLOYMENT, isBatchName, parseInstant, queueNames } from '@holdoff/url-job';
import { createBatchWithTokens } from '../enqueue/batch-tokens.ts';
import { createEnqueueView } from '../enqueue/enqueue-view.ts';
import { type EntryDefaults, openSources, readEntries } from '../enqueue/read-entries.ts';
import { sendEntries } from '../enqueue/send-entries.ts';
import { warnBeforeSending } from '../feasibility/warn-before-sending.ts';
import { openRunStore } from '../run/run-store.ts';

interface Flags {
  readonly batch: string;
  readonly priority?: string;
  readonly notBefore?: string;
  readonly deadline?: string;
  readonly method?: string;
  readonly headers?: string;
  readonly retryTokens?: number;
  readonly redis: string;
  readonly json: boolean;
}

/** What the command needs from its surroundings. */
export interface EnqueueIo {
  readonly input: Readable;
  readonly output: { write(text: string): unknown };
  readonly errors: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

const INBOX_MAX = 100_000;
const PATIENCE_MS = 60_000;
const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

/** `holdoff enqueue`: give URLs to a running fleet. */
export function enqueueCommand(io: () => EnqueueIo = processIo): Command {
  return new Command('enqueue')
    .summary('give URLs to a running fleet')
    .description(
      'Sends URLs to the inbox of a fleet. A line is a URL, or a JSON object with the fields of an inbox entry; blank lines and lines that begin with # are left out. Bad lines are listed with their numbers and the good ones are sent all the same. Sending a URL of a batch again changes nothing. Before the first URL is sent, hosts whose pace cannot make the deadline are named (not for standard input: see holdoff batch plan).',
    )
    .argument('<lists...>', 'URLs, files with one URL or JSON object a line, or - for standard input')
    .option('--batch <name>', 'batch that the URLs belong to', batchName, DEFAULT_BATCH)
    .option('--priority <n>', '0 (first) to 100 (last)', priority)
    .option('--not-before <instant>', 'not to be fetched before: +5m, 2026-01-15T12:00:00Z, epoch', instant)
    .option('--deadline <instant>', 'given up after: 6h, 2026-01-15T12:00:00Z, epoch', instant)
    .option('--method <method>', 'GET or HEAD')
    .option('--headers <name>', 'header set that the workers keep')
    .option('--retry-tokens <n>', 'retry tokens of a new batch; without it the policy decides', tokens)
    .addOption(
      new Option('--redis <url>', 'Redis or Valkey of the fleet')
        .argParser(redisUrl)
        .default('redis://127.0.0.1:6379')
        .env('REDIS_URL'),
    )
    .option('--json', 'no progress; the last line is one JSON object', false)
    .addHelpText(
      'after',
      `
Examples:
  holdoff enqueue urls.txt --batch nightly --deadline 6h
  echo '{"url": "https://example.com/a", "priority": 10}' | holdoff enqueue - --batch nightly

Exit code: 0 when every line was sent, 1 when one was refused or sending failed, 130 after Ctrl-C.`,
    )
    .action(async (lists: string[], flags: Flags) => {
      process.exitCode = await enqueue(lists, flags, io());
    });
}

async function enqueue(lists: readonly string[], flags: Flags, io: EnqueueIo): Promise<number> {
  const counts = { sent: 0, refused: 0 };
  let close: (() => void) | undefined;
  try {
    const sources = await openSources(lists);
    const store = await openRunStore(flags.redis, DEFAULT_DEPLOYMENT);
    const view = createEnqueueView(
      io.errors,
      sources.reduce((sum, { bytes }) => sum + bytes, 0),
      flags.json,
    );
    close = () => {
      view.close();
      store.close();
    };
    const nowMs = io.nowMs();
    if (flags.retryTokens !== undefined) {
      await createBatchWithTokens(store, flags.batch, flags.retryTokens, DEFAULT_DEPLOYMENT);
    }
    const reading = { standardInput: io.input, defaults: defaultsOf(flags, nowMs), nowMs, signal: io.signal };
    await warnBeforeSending(store, DEFAULT_DEPLOYMENT, sources, {
      ...reading,
      say: (line) => void io.errors.write(`${line}\n`),
    });
    const entries = readEntries(sources, { ...reading, passed: (bytes) => view.read(bytes) });
    await sendEntries(entries, {
      redis: store.redis,
      inbox: queueNames(DEFAULT_DEPLOYMENT).inbox,
      inboxMax: INBOX_MAX,
      patienceMs: PATIENCE_MS,
      signal: io.signal,
      events: {
        sent: (count) => {
          counts.sent += count;
          view.counted(counts.sent, counts.refused);
        },
        refused: ({ place, fault }) => {
          counts.refused += 1;
          view.refused(place, fault);
          view.counted(counts.sent, counts.refused);
        },
        waiting: (length) => view.waiting(length),
      },
    });
    close();
    close = undefined;
    report(counts, flags, io, null);
    if (io.signal.aborted) return EXIT_INTERRUPTED;
    return counts.refused === 0 ? 0 : EXIT_FAILED;
  } catch (error) {
    close?.();
    const message = redactText(error instanceof Error ? error.message : String(error));
    io.errors.write(`${pc.red('holdoff enqueue:')} ${message}\n`);
    report(counts, flags, io, message);
    return EXIT_FAILED;
  }
}

function report(
  counts: { readonly sent: number; readonly refused: number },
  flags: Flags,
  io: EnqueueIo,
  fault: string | null,
): void {
  if (flags.json) {
    io.output.write(`${JSON.stringify({ batch: flags.batch, ...counts, fault })}\n`);
  } else if (fault === null || counts.sent > 0) {
    const refused = counts.refused > 0 ? `, ${counted(counts.refused, 'line')} refused` : '';
    io.output.write(`${counted(counts.sent, 'URL')} sent to batch ${flags.batch}${refused}\n`);
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Durations on the command line count from its start, for all lines alike. */
function defaultsOf(flags: Flags, nowMs: number): EntryDefaults {
  const absolute = (text: string | undefined): string | undefined => {
    if (text === undefined) return undefined;
    const parsed = parseInstant('', text, nowMs);
    return parsed.kind === 'ok' ? String(parsed.value) : text;
  };
  const given: Record<string, string | undefined> = {
    batch: flags.batch,
    priority: flags.priority,
    not_before: absolute(flags.notBefore),
    deadline: absolute(flags.deadline),
    method: flags.method,
    headers: flags.headers,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function processIo(): EnqueueIo {
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  process.once('SIGTERM', () => interrupted.abort());
  return {
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    nowMs: Date.now,
    signal: interrupted.signal,
  };
}

function batchName(text: string): string {
  if (isBatchName(text)) return text;
  throw new InvalidArgumentError('must be 1 to 64 letters, digits, dots, dashes or underscores.');
}

function priority(text: string): string {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 100) return text;
  throw new InvalidArgumentError('must be a whole number from 0 to 100.');
}

function tokens(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be a whole number.');
}

function instant(text: string): string {
  const parsed = parseInstant('', text, 0);
  if (parsed.kind === 'ok') return text;
  throw new InvalidArgumentError(`${parsed.fault.rule}.`);
}

function redisUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'redis:' || url.protocol === 'rediss:')) return text;
  throw new InvalidArgumentError('must be a URL such as redis://127.0.0.1:6379.');
}
