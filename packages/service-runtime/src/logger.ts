import { type DestinationStream, type LevelWithSilent, destination, pino, stdTimeFunctions } from 'pino';
import { logValue } from './log-value.ts';

export type LogLevel = LevelWithSilent;
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log lines. No call ever throws: a log line must not fail the work that it reports. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  fatal(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  child(fields: LogFields): Logger;
  /** Everything logged so far is written when it returns. */
  flush(): void;
}

export interface LoggerOptions {
  /** The process in every line. */
  readonly service: string;
  readonly instance: string;
  readonly level: LogLevel;
  /** Where lines go; default: standard output, written before the call returns. */
  readonly stream?: DestinationStream;
}

const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
/** Names that pino writes itself; a field of that name would make a line with two of them. */
const RESERVED = new Set(['level', 'time', 'service', 'instance', 'msg']);

/**
 * JSON lines on standard output. Written synchronously: a buffered or threaded transport loses the last lines of
 * a process that ends, and those say why it ended.
 */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? destination({ dest: 1, sync: true });
  const base = pino(
    {
      level: options.level,
      base: { service: options.service, instance: options.instance },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {},
    },
    stream,
  );
  const flush = (): void => {
    if ('flushSync' in stream && typeof stream.flushSync === 'function') stream.flushSync();
  };
  return wrap(base, {}, flush);
}

type PinoLike = Pick<ReturnType<typeof pino>, (typeof LEVELS)[number] | 'isLevelEnabled'>;

function wrap(base: PinoLike, bound: LogFields, flush: () => void): Logger {
  const write = (level: (typeof LEVELS)[number], message: string, fields?: LogFields): void => {
    try {
      if (!base.isLevelEnabled(level)) return;
      base[level](safeFields(bound, fields), safeMessage(message));
    } catch {
      // A closed pipe or a full disk: there is nowhere left to tell, and the work must go on.
    }
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
    fatal: (message, fields) => write('fatal', message, fields),
    child: (fields) => wrap(base, safeFields(bound, fields), flush),
    flush: () => {
      try {
        flush();
      } catch {
        // As above.
      }
    },
  };
}

function safeFields(bound: LogFields, fields: LogFields | undefined): Record<string, unknown> {
  const safe: Record<string, unknown> = { ...bound };
  const copied = fields === undefined ? {} : logValue(fields);
  if (typeof copied !== 'object' || copied === null) return { ...safe, fields: copied };
  for (const [key, value] of Object.entries(copied)) safe[RESERVED.has(key) ? `${key}_` : key] = value;
  return safe;
}

function safeMessage(message: string): string {
  const copied = logValue(message);
  return typeof copied === 'string' ? copied : String(copied);
}

/** For tests and for parts that are used without a process around them. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  child: () => silentLogger,
  flush: () => undefined,
};
