import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** What is still referenced after a collection, buffers included, and the whole process, both in MiB. */
export function memoryInUseMiB(): { readonly held: number; readonly rss: number } {
  collect();
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { held: (heapUsed + arrayBuffers) / 1_048_576, rss: rss / 1_048_576 };
}
