import type { ProxyFailure } from '@holdoff/throttle-core';
import type { FetchFault, ProxyAnswer } from '../fetch/fetch-fault.ts';

/** Statuses with which a proxy says that it is the destination it cannot reach. */
const ABOUT_THE_DESTINATION: ReadonlySet<number> = new Set([502, 504]);

/** How far a failed proxy is to blame. null: it works, and refuses this destination. */
export function proxyFailureOf(fault: FetchFault): ProxyFailure | null {
  if (fault.kind === 'proxy') {
    if (fault.answer !== null) return failureOfStatus(fault.answer);
    if (fault.code === 'PROXY_AUTH') return 'credentials';
    return fault.code === 'PROXY_REFUSED' ? 'destination' : 'proxy';
  }
  return 'proxy';
}

export function failureOfStatus({ status }: Pick<ProxyAnswer, 'status'>): ProxyFailure | null {
  if (status === 403) return null;
  if (status === 407) return 'credentials';
  return ABOUT_THE_DESTINATION.has(status) ? 'destination' : 'proxy';
}
