import type { Bench } from './harness/bench.ts';

/** Every bench by name; loaded when it is run. */
export const CATALOG: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  throughput: () => import('./throughput.ts'),
  'free-hosts': () => import('./free-hosts.ts'),
  'one-throttled-host': () => import('./one-throttled-host.ts'),
};
