import type { BatchId, BatchSnapshot, Gate, HostKey, HostSnapshot } from '@holdoff/throttle-core';

const HOSTS_LOOKED_AT = 64;

export interface RunProgress {
  readonly total: number;
  readonly done: number;
  readonly stopped: number;
  readonly batch: BatchSnapshot | undefined;
  readonly hosts: readonly HostProgress[];
  readonly hostsMore: number;
  /** URLs that are entered and neither in a host's line nor in flight: a back-off of their own, or a worker's queue. */
  readonly elsewhere: number;
}

interface HostProgress {
  readonly host: string;
  readonly waiting: number;
  readonly inFlight: number;
  /** Why its jobs wait, for people; empty: they do not. */
  readonly cause: string;
}

export interface WatchOptions {
  readonly gate: Pick<Gate, 'inspectBatch' | 'inspectHost'>;
  readonly batch: BatchId;
  /** URLs that were entered at the start; handlers may add to them. */
  readonly total: number;
  /** Entries of the inbox that no scheduler has taken yet. */
  readonly inboxLength: () => Promise<number>;
  readonly hosts: readonly HostKey[];
  readonly hostsShown: number;
  readonly everyMs: number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly show: (progress: RunProgress) => void;
  /** Ends the watch early. */
  readonly stopped: () => boolean;
}

/** Watches a batch until all its URLs have ended. Returns the last view; `ended` false: it was stopped early. */
export async function watchBatch(options: WatchOptions): Promise<RunProgress & { readonly ended: boolean }> {
  for (;;) {
    const progress = await look(options);
    options.show(progress);
    if (hasEnded(progress) && (await staysEnded(options, progress.total)))
      return { ...progress, ended: true };
    if (options.stopped()) return { ...progress, ended: false };
    await options.sleep(options.everyMs);
  }
}

function hasEnded({ total, done, stopped }: Pick<RunProgress, 'total' | 'done' | 'stopped'>): boolean {
  return done + stopped >= total;
}

/**
 * A page's follow-up URLs are in the inbox before the page itself has ended. So when all had ended, the inbox is
 * empty after that, and the batch has not grown after that either, there is nothing to come.
 */
async function staysEnded({ gate, batch, inboxLength }: WatchOptions, total: number): Promise<boolean> {
  if ((await inboxLength()) > 0) return false;
  const again = await gate.inspectBatch(batch);
  return (again?.jobs.total ?? 0) <= total;
}

async function look({ gate, batch, total, hosts, hostsShown }: WatchOptions): Promise<RunProgress> {
  const snapshot = await gate.inspectBatch(batch);
  // One look at each host is enough of a look: a list of thousands of hosts shows the first of them.
  const looked = await Promise.all(hosts.slice(0, HOSTS_LOOKED_AT).map((host) => gate.inspectHost(host)));
  const busy = looked
    .filter((host): host is HostSnapshot => host !== undefined)
    .map(hostProgress)
    .filter((host) => host.waiting > 0 || host.inFlight > 0)
    .toSorted((a, b) => b.waiting - a.waiting);
  const { jobs } = snapshot ?? { jobs: { total: 0, done: 0, stopped: 0 } };
  const entered = jobs.total - (snapshot?.movedOn ?? 0) - jobs.done - jobs.stopped;
  const inSight = busy.reduce((sum, host) => sum + host.waiting + host.inFlight, 0);
  // A cancelled batch takes no further URL: what is not in it by now never will be.
  const inBatch = snapshot?.jobs.total ?? 0;
  return {
    total:
      snapshot?.cancelled === true
        ? inBatch - snapshot.movedOn
        : Math.max(total, inBatch - (snapshot?.movedOn ?? 0)),
    done: snapshot?.jobs.done ?? 0,
    stopped: snapshot?.jobs.stopped ?? 0,
    batch: snapshot,
    hosts: busy.slice(0, hostsShown),
    hostsMore: Math.max(0, busy.length - hostsShown),
    // Hosts that are not looked at may hold any number of them.
    elsewhere: hosts.length > HOSTS_LOOKED_AT ? 0 : Math.max(0, entered - inSight),
  };
}

function hostProgress(host: HostSnapshot): HostProgress {
  return { host: host.host, waiting: host.waiting, inFlight: host.leases.length, cause: waitOf(host) };
}

/** The one clock that binds the host at the moment, in the order in which admission asks. */
export function waitOf(host: HostSnapshot): string {
  const { nowMs, circuit, cooldownUntilMs, hold, pace } = host;
  const seconds = (untilMs: number): string => `${Math.max(0, Math.ceil((untilMs - nowMs) / 1_000))} s`;
  if (hold !== null) return `held: ${hold.reason}`;
  if (circuit.state === 'open' && circuit.openUntilMs > nowMs)
    return `circuit open for ${seconds(circuit.openUntilMs)}`;
  if (circuit.state === 'half_open') return 'one probe is out';
  if (cooldownUntilMs > nowMs) return `the server said wait: ${seconds(cooldownUntilMs)}`;
  if (host.waiting === 0) return '';
  if (pace.effectiveIntervalMs > 0) return `pace ${perSecond(pace.effectiveIntervalMs)}`;
  return 'all host slots are taken';
}

function perSecond(intervalMs: number): string {
  const rate = 1_000 / intervalMs;
  return rate >= 1 ? `${rate.toFixed(rate >= 10 ? 0 : 1)}/s` : `one per ${(intervalMs / 1_000).toFixed(1)} s`;
}
