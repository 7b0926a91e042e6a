import { isSecretName, redactText } from './redact-text.ts';

const TEXT_CHARACTERS_MAX = 2_000;
const STACK_LINES_MAX = 12;
const ITEMS_MAX = 50;
const DEPTH_MAX = 4;
const CAUSES_MAX = 3;

/**
 * A copy of a value that is safe to log, made by allow-list: primitives, plain objects and arrays, and of an
 * error its name, code, message, stack and cause. Everything else (sockets, requests, agents, header maps, the
 * options that HTTP clients hang on their errors) becomes the name of its class. Text is redacted and cut.
 *
 * Never throws, whatever a getter or a proxy in the value does.
 */
export function logValue(value: unknown, depth = 0): unknown {
  try {
    return copy(value, depth);
  } catch {
    return '[unreadable]';
  }
}

function copy(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return logText(value);
    case 'number':
      return Number.isFinite(value) ? value : String(value);
    case 'boolean':
      return value;
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? null : copyObject(value, depth);
    case 'undefined':
      return undefined;
    default:
      return `[${typeof value}]`;
  }
}

function copyObject(value: object, depth: number): unknown {
  if (value instanceof Error) return copyError(value, 0);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (depth >= DEPTH_MAX) return '[deep]';
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => logValue(item, depth + 1));
    return value.length > ITEMS_MAX ? [...items, `[${value.length - ITEMS_MAX} more]`] : items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return `[${className(value)}]`;
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value).slice(0, ITEMS_MAX)) {
    const child: unknown = Reflect.get(value, key);
    // Numbers pass: `tokensLeft` counts, it opens nothing.
    const secret = isSecretName(key) && (typeof child === 'string' || typeof child === 'object');
    copied[key] = secret ? '[redacted]' : logValue(child, depth + 1);
  }
  return copied;
}

function copyError(error: Error, causes: number): unknown {
  const code: unknown = Reflect.get(error, 'code');
  return {
    name: logValue(error.name),
    ...(typeof code === 'string' || typeof code === 'number' ? { code: logValue(code) } : {}),
    message: logValue(error.message),
    ...(typeof error.stack === 'string' ? { stack: logStack(error.stack) } : {}),
    ...(error.cause instanceof Error && causes < CAUSES_MAX
      ? { cause: copyError(error.cause, causes + 1) }
      : {}),
  };
}

/** The frames only: the head of a stack repeats the message. */
function logStack(stack: string): string {
  const frames = stack.split('\n', 200).filter((line) => line.startsWith('    at '));
  return logText(frames.slice(0, STACK_LINES_MAX).join('\n'));
}

/** Redacted before it is cut: half a secret that lies across the end would not be known for one. */
function logText(text: string): string {
  const redacted = redactText(text.slice(0, TEXT_CHARACTERS_MAX + SECRET_CHARACTERS_MAX));
  const cut = text.length > TEXT_CHARACTERS_MAX ? `${redacted.slice(0, TEXT_CHARACTERS_MAX)}…` : redacted;
  return cut.toWellFormed();
}

/** Longer than any user and password in a URL that a server takes. */
const SECRET_CHARACTERS_MAX = 16_384;

function className(value: object): string {
  const constructor: unknown = Reflect.get(value, 'constructor');
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'object';
}
