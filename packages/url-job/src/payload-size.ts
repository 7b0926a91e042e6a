export interface PayloadLimits {
  readonly bytesMax: number;
  readonly depthMax: number;
}

/**
 * Whether a decoded JSON value is small and flat enough to be looked at: `fits`, or the rule it breaks. Walks
 * with a stack of its own and stops at the first excess, so that neither depth nor size can hurt the walker.
 * Counts what the value would take as JSON, escapes apart.
 */
export function measure(value: unknown, limits: PayloadLimits): string {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  let bytes = 0;
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { value: current, depth } = item;
    bytes += 1;
    if (typeof current === 'string') {
      bytes += current.length > limits.bytesMax ? current.length : Buffer.byteLength(current) + 2;
    } else if (typeof current === 'object' && current !== null) {
      if (depth > limits.depthMax) return `must be nested at most ${limits.depthMax} deep`;
      // Key by key: a list of all of a hostile value's members would cost more than looking at the first few.
      for (const key in current) {
        if (!Object.hasOwn(current, key)) continue;
        bytes += Array.isArray(current) ? 1 : key.length + 3;
        if (bytes > limits.bytesMax) break;
        open.push({ value: Reflect.get(current, key), depth: depth + 1 });
      }
    } else {
      bytes += String(current).length;
    }
    if (bytes > limits.bytesMax) return `must be at most ${limits.bytesMax} bytes`;
  }
  return 'fits';
}
