/** A line of input, or the fact that one was longer than it may be. `number` counts from 1. */
export type InputLine =
  | { readonly kind: 'line'; readonly number: number; readonly text: string }
  | { readonly kind: 'too_long'; readonly number: number };

/**
 * Splits a stream of bytes into lines and never holds more than `bytesMax` of one: the rest of a longer line is
 * passed over, and the lines after it are read as usual. Bytes that are no UTF-8 become U+FFFD.
 */
export async function* readBoundedLines(
  input: AsyncIterable<Uint8Array | string>,
  bytesMax: number,
): AsyncGenerator<InputLine> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let number = 1;
  for await (const chunk of input) {
    let rest =
      typeof chunk === 'string'
        ? Buffer.from(chunk)
        : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      yield lineOf([...held, rest.subarray(0, end)], heldBytes + end, number, bytesMax);
      held = [];
      heldBytes = 0;
      number += 1;
      rest = rest.subarray(end + 1);
    }
    heldBytes += rest.length;
    if (heldBytes <= bytesMax) held.push(rest);
    else held = [];
  }
  if (heldBytes > 0) yield lineOf(held, heldBytes, number, bytesMax);
}

const LINE_FEED = 0x0a;

function lineOf(parts: readonly Buffer[], bytes: number, number: number, bytesMax: number): InputLine {
  if (bytes > bytesMax) return { kind: 'too_long', number };
  return { kind: 'line', number, text: Buffer.concat(parts).toString('utf8').replace(/\r$/u, '') };
}
