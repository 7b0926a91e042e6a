import type { Bench } from './harness/bench.ts';

/** Every bench by name; loaded when it is run. */
export const CATALOG: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  throughput: () => import('./throughput.ts'),
  'free-hosts': () => import('./free-hosts.ts'),
  'one-throttled-host': () => import('./one-throttled-host.ts'),
  'kinds-of-limit': () => import('./kinds-of-limit.ts'),
  'many-throttled-hosts': () => import('./many-throttled-hosts.ts'),
  'redirect-to-throttled-host': () => import('./redirect-to-throttled-host.ts'),
  'head-of-line': () => import('./head-of-line.ts'),
  'waiting-behind-cooldowns': () => import('./waiting-behind-cooldowns.ts'),
  'backlog-growth': () => import('./backlog-growth.ts'),
  admission: () => import('./admission.ts'),
  memory: () => import('./memory.ts'),
  enqueue: () => import('./enqueue.ts'),
  'simulator-vs-reality': () => import('./simulator-vs-reality.ts'),
};
