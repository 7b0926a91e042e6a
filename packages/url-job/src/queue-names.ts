/** Every name in Redis that the apps must agree on, apart from the gate's keys. */
export interface QueueNames {
  /** BullMQ's key prefix. Its braces are the hash tag: all keys of a deployment live on one cluster node. */
  readonly prefix: string;
  readonly queue: string;
  /**
   * Where producers in any language add entries, and where refused ones go. These two are typed by people, so they
   * carry no hash tag. They need none: each is only ever touched by commands and scripts with that one key.
   */
  readonly inbox: string;
  readonly rejected: string;
  readonly inboxGroup: string;
  /** Queue jobs that cannot be read, raw. In the queue's slot, since a job moves there atomically. */
  readonly dead: string;
  /** What ended as stopped, newest last, bounded: to browse and to replay from. */
  readonly stopped: string;
  /** BullMQ queue of recurring work, under the same prefix, and what is known of its runs. */
  readonly schedules: string;
  readonly scheduleRuns: string;
  /** Before a batch's name: set of the ids by which it was grown, by handlers, sitemaps and URLs that joined it. */
  readonly followed: string;
  /** Hash: the proxy pools that the workers have, names only. */
  readonly proxyPools: string;
}

export const DEPLOYMENT_GRAMMAR = /^[a-z0-9][a-z0-9-]{0,31}$/;
export const DEFAULT_DEPLOYMENT = 'holdoff';

/** @throws RangeError when `deployment` is not of the grammar: braces in it would break the hash tag. */
export function queueNames(deployment: string = DEFAULT_DEPLOYMENT): QueueNames {
  if (!DEPLOYMENT_GRAMMAR.test(deployment)) {
    throw new RangeError(`deployment name must match ${DEPLOYMENT_GRAMMAR.source}`);
  }
  return {
    prefix: `{${deployment}}`,
    queue: 'urls',
    inbox: `${deployment}:inbox`,
    rejected: `${deployment}:rejected`,
    inboxGroup: 'schedulers',
    dead: `{${deployment}}:dead`,
    schedules: 'schedules',
    scheduleRuns: `{${deployment}}:schedule-runs`,
    stopped: `{${deployment}}:stopped`,
    followed: `{${deployment}}:followed:`,
    proxyPools: `{${deployment}}:proxy-pools`,
  };
}
