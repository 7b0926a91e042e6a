import type { IncomingMessage } from 'node:http';

/** Lower-cased names, repeated lines kept apart and in order. No prototype: a header may be called `__proto__`. */
export function headerLines(raw: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const lines = Object.create(null) as Record<string, string[]>;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    const value = raw[i + 1] ?? '';
    const known = lines[name];
    if (known === undefined) lines[name] = [value];
    else known.push(value);
  }
  return lines;
}

/** Size of the head on the wire, near enough for a bill: names, values, separators and the status line. */
export function headBytes(raw: readonly string[]): number {
  let bytes = 19;
  for (const text of raw) bytes += text.length + 2;
  return bytes;
}

/** RFC 9112 §6.3: without a length or chunks as the last coding, the body ends where the connection does. */
export function isCloseDelimited({ response }: { readonly response: IncomingMessage }): boolean {
  const codings = response.headers['transfer-encoding'];
  if (codings === undefined) return response.headers['content-length'] === undefined;
  return !/(?:^|,)[ \t]*chunked[ \t]*$/iu.test(codings);
}
