import { join } from 'node:path';
import { Child } from './child.ts';
import { ROOT } from './root.ts';

/** The baselines: what people run today, each as small as it can be and still honest. */
export type PeerName = 'undici' | 'got' | 'got-retry-after' | 'got-backoff' | 'bullmq-got' | 'bullmq-pause';

export interface PeerTask {
  readonly peer: PeerName;
  readonly urls: readonly string[];
  /** Requests at once. */
  readonly slots: number;
  /** What is not finished by then counts as unfinished. */
  readonly budgetMs: number;
  /** Needed by those with a queue. */
  readonly redisUrl?: string;
}

export interface PeerReport {
  readonly served: number;
  /** Given up by the peer itself. */
  readonly lost: number;
  readonly unfinished: number;
  /** From the first request to the last end, or to the budget, s. */
  readonly seconds: number;
  /** User and system time of the peer's process from the first request on, s. */
  readonly cpuSeconds: number;
  readonly rssBytes: number;
}

/** Until the first request: the process starts, and a queue is filled. */
const STARTS_WITHIN_MS = 60_000;

/** The process ends by itself with its report; stopping it early makes the report reject. */
export function startPeer(task: PeerTask): { readonly child: Child; readonly report: Promise<PeerReport> } {
  const child = new Child(`the peer ${task.peer}`, {
    args: [join(ROOT, 'bench/peers/run-peer.ts')],
    input: JSON.stringify(task),
  });
  return { child, report: reportOf(child, task.budgetMs + STARTS_WITHIN_MS) };
}

async function reportOf(child: Child, withinMs: number): Promise<PeerReport> {
  try {
    return JSON.parse(await child.line((text) => text.startsWith('{"served"'), withinMs)) as PeerReport;
  } finally {
    await child.stop();
  }
}
