import { readFile } from 'node:fs/promises';
import { z } from 'zod';

/** Set by the connection itself; a second opinion about them splits requests or sends them elsewhere. */
const FORBIDDEN = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/)
  .refine((name) => !FORBIDDEN.has(name.toLowerCase()), { error: 'is set by the connection itself' });
const headerValue = z
  .string()
  .max(8_192)
  .regex(/^[\t\x20-\x7e]*$/);
const schema = z.record(
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
  z.record(headerName, headerValue),
);

export type HeaderSet = Readonly<Record<string, string>>;

/**
 * The headers that jobs name by reference: credentials stay in a file of the workers and never travel through
 * the queue. JSON: `{"partner": {"authorization": "Bearer …"}}`. Names lower-cased.
 *
 * @throws Error naming file and key, never a value.
 */
export async function readHeaderSets(path: string): Promise<ReadonlyMap<string, HeaderSet>> {
  if (path === '') return new Map();
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`HEADERS_FILE ${path} cannot be read: ${error.code ?? 'unknown'}`);
  });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(`HEADERS_FILE ${path} is not JSON`);
  }
  const parsed = schema.safeParse(data);
  if (!parsed.success) {
    const keys = parsed.error.issues.map((issue) => issue.path.join('.') || 'the file');
    throw new Error(`HEADERS_FILE ${path}: ${[...new Set(keys)].join(', ')} is not a usable header`);
  }
  return new Map(Object.entries(parsed.data).map(([name, set]) => [name, lowerCased(set)]));
}

function lowerCased(set: HeaderSet): HeaderSet {
  return Object.fromEntries(Object.entries(set).map(([name, value]) => [name.toLowerCase(), value]));
}
