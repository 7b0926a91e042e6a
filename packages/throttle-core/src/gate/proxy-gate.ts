import type { HostKey, JobId } from '../core/identifiers.ts';
import type { ProxyFailure } from '../core/proxy-circuit.ts';
import type { JobEnd, WaitCause } from './gate.ts';

export interface AskProxyRequest {
  readonly job: JobId;
  readonly proxy: HostKey;
  readonly nonce: string;
  readonly delivery: number;
  /** How long a probe may take until another one may go: an attempt, and some time around it. */
  readonly probeMs: number;
  /** What an attempt needs before the job's deadline: budget and headroom. */
  readonly neededMs: number;
}

export type AskProxyReply =
  | {
      readonly kind: 'go';
      /** This request is the trial of a proxy that failed: its result must be settled. '': it is not. */
      readonly probe: string;
      readonly generation: number;
      /** Points of failures in a row. 0: a success need not be settled. */
      readonly points: number;
      readonly nowMs: number;
      readonly call: readonly JobId[];
    }
  /** The job stands in the proxy's lane and is called when the proxy is back. */
  | {
      readonly kind: 'wait';
      readonly cause: WaitCause;
      readonly untilMs: number;
      readonly place: number | null;
      readonly fallbackMs: number;
      readonly nowMs: number;
    }
  | { readonly kind: 'stop'; readonly reason: 'deadline'; readonly nowMs: number }
  | { readonly kind: 'stale'; readonly ended: JobEnd | null };

export interface SettleProxyRequest {
  readonly proxy: HostKey;
  readonly nonce: string;
  readonly probe: string;
  readonly generation: number;
  readonly result:
    | { readonly kind: 'through' }
    /** It was not asked after all, or what happened says nothing about it. */
    | { readonly kind: 'unused' }
    | {
        readonly kind: 'failed';
        readonly failure: ProxyFailure;
        /** The proxy's own wait, absolute; 0: none. */
        readonly cooldownUntilMs: number;
        /** One line for people, at most 200 characters. */
        readonly why: string;
      };
}

export interface SettleProxyReply {
  readonly lookAtMs: number | null;
  readonly nowMs: number;
  readonly call: readonly JobId[];
}
