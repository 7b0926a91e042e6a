import { STATUS_CODES } from 'node:http';
import type { Outcome } from '@holdoff/throttle-core';
import type { FetchFault, Phase } from './fetch-fault.ts';

/** Says how a faulty exchange ended: which side failed, and whether the job can go on. */
export function outcomeOfFault(fault: FetchFault): Outcome {
  switch (fault.kind) {
    case 'refused':
      return { class: 'neutral', source: 'client', stop: fault.stop, detail: fault.detail };
    case 'dns':
      return fault.exists === 'no'
        ? {
            class: 'neutral',
            source: 'client',
            stop: 'dns',
            detail: `host name has no address (${fault.code})`,
          }
        : {
            class: 'transport',
            source: 'client',
            stop: null,
            detail: `host name not resolved (${fault.code})`,
          };
    case 'tls_identity':
      return {
        class: 'neutral',
        source: 'destination',
        stop: 'tls',
        detail: `certificate not accepted (${fault.code})`,
      };
    case 'deadline':
      return {
        class: 'transport',
        source: fault.phase === 'proxy' ? 'proxy' : fault.phase === 'queue' ? 'client' : 'destination',
        stop: null,
        detail: `attempt budget used up ${PHASES[fault.phase]}`,
      };
    case 'cancelled':
      return { class: 'neutral', source: 'client', stop: null, detail: `cancelled ${PHASES[fault.phase]}` };
    case 'transport':
      return {
        class: 'transport',
        source: 'destination',
        stop: null,
        detail: `connection failed ${PHASES[fault.phase]} (${fault.code})`,
      };
    case 'truncated':
      return {
        class: 'transport',
        source: 'destination',
        stop: null,
        detail: `answer cut off (${fault.code})`,
      };
    case 'too_large':
      return {
        class: 'served',
        source: 'destination',
        stop: 'too_large',
        detail: LIMITS[fault.limit],
      };
    case 'bad_content':
      return { class: 'served', source: 'destination', stop: 'bad_content', detail: fault.detail };
    case 'proxy':
      return outcomeOfProxy(fault);
  }
}

const PHASES: Readonly<Record<Phase, string>> = {
  queue: 'before a socket was free',
  dns: 'while resolving the name',
  connect: 'while connecting',
  proxy: 'while the proxy connected',
  tls: 'during the TLS handshake',
  headers: 'while waiting for the answer',
  body: 'while reading the answer',
};

const LIMITS = {
  wire: 'body larger than the wire limit',
  decoded: 'body larger than the decoded limit',
  ratio: 'body compressed beyond the ratio limit',
  headers: 'header larger than its limit',
} as const;

function outcomeOfProxy(fault: Extract<FetchFault, { kind: 'proxy' }>): Outcome {
  const what = fault.status === 0 ? fault.code : `${fault.status} ${STATUS_CODES[fault.status] ?? ''}`.trim();
  const detail = `proxy ${fault.proxy}: ${what}`;
  // Wrong credentials and a forbidden destination are the same tomorrow; the rest may pass.
  const lasting = fault.status === 407 || fault.status === 403 || fault.code === 'PROXY_AUTH';
  if (fault.status === 429) return { class: 'throttled', source: 'proxy', stop: null, detail };
  return { class: 'transport', source: 'proxy', stop: lasting ? 'proxy' : null, detail };
}

/** The outcome of an answer that came whole. */
export function outcomeOfStatus(status: number): Outcome {
  const detail = `${status} ${STATUS_CODES[status] ?? 'unknown status'}`;
  const source = 'destination';
  if (status >= 200 && status < 400) return { class: 'served', source, stop: null, detail };
  if (status === 429) return { class: 'throttled', source, stop: null, detail };
  if (status === 401 || status === 403) return { class: 'blocked', source, stop: 'blocked', detail };
  if (status === 408 || status >= 500) return { class: 'unavailable', source, stop: null, detail };
  return { class: 'permanent', source, stop: 'permanent', detail };
}
