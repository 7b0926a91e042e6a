import type { WorkerParts } from './attempt.ts';

/**
 * The points of a delivery at which a worker that is killed is hardest to make up for, in the order in which they are
 * passed. after_admit: permitted and charged, nothing sent. after_send: answered, nothing handed over. after_host_effect:
 * the fleet knows the host's wait, nobody the result. before_settle: the result is with the sinks, the gate does not
 * know. before_finish: the same for a job whose host was settled first. after_settle: the gate knows, the queue does not.
 */
export const FAIL_POINTS = [
  'after_admit',
  'after_send',
  'after_host_effect',
  'before_settle',
  'before_finish',
  'after_settle',
] as const;
export type FailPoint = (typeof FAIL_POINTS)[number];
export const FAIL_SIGNALS = ['SIGKILL', 'SIGSTOP'] as const;

export interface FailAt {
  readonly point: FailPoint;
  /** SIGKILL: a crash. SIGSTOP: frozen until somebody continues it, and then it goes on where it was. */
  readonly signal: (typeof FAIL_SIGNALS)[number];
}

/** Where a process is told to fail; null outside tests. */
export function failAtOf(config: {
  readonly CRASH_AT: FailPoint | 'off';
  readonly CRASH_SIGNAL: FailAt['signal'];
}): FailAt | null {
  return config.CRASH_AT === 'off' ? null : { point: config.CRASH_AT, signal: config.CRASH_SIGNAL };
}

const SIGNAL_TAKES_MS = 50;
const ROBOTS_PATH = '/robots.txt';

/** For tests only: this process sends itself a signal the first time that a delivery of it comes to the point. */
export function withFailPoint(parts: WorkerParts, failAt: FailAt): WorkerParts {
  let passed = false;
  const pass = (point: FailPoint): void => {
    if (passed || point !== failAt.point) return;
    passed = true;
    process.kill(process.pid, failAt.signal);
    // The signal may take a moment to reach this thread: nothing of the delivery happens meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_TAKES_MS);
  };
  const { gate } = parts;
  return {
    ...parts,
    gate: {
      ...gate,
      async admit(request) {
        const reply = await gate.admit(request);
        if (reply.kind === 'admitted' && request.purpose !== 'robots') pass('after_admit');
        return reply;
      },
      async settle(request) {
        // What goes on is a robots.txt or a redirect: the delivery has not come to its end.
        const ends = request.jobEffect.kind !== 'continue';
        if (ends) pass('before_settle');
        const reply = await gate.settle(request);
        if (ends) pass('after_settle');
        else if (request.outcome === 'throttled') pass('after_host_effect');
        return reply;
      },
      async finish(request) {
        pass('before_finish');
        return gate.finish(request);
      },
    },
    async fetchPage(request) {
      const exchange = await parts.fetchPage(request);
      if (new URL(request.url).pathname !== ROBOTS_PATH) pass('after_send');
      return exchange;
    },
  };
}
