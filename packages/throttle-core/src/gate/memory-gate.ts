import { closeCircuit } from '../core/circuit.ts';
import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';
import type { BatchSnapshot, CalledHost, Gate, HostSnapshot } from './gate.ts';
import { admit } from './memory/admit.ts';
import { callHost } from './memory/call-jobs.ts';
import { enter } from './memory/enter.ts';
import { finish } from './memory/finish.ts';
import { joinRun } from './memory/join-run.ts';
import { forgetPace, snapshotBatch, snapshotHost, snapshotJob } from './memory/inspect.ts';
import {
  type BatchEntry,
  type HostEntry,
  type MemoryState,
  hostOf,
  newBatch,
  newMemoryState,
} from './memory/memory-state.ts';
import { askProxy, settleProxy } from './memory/proxies.ts';
import { settle } from './memory/settle.ts';
import { wake } from './memory/wake.ts';

/**
 * The gate in memory: the executable specification of the Redis gate, and the gate of the simulator. One process
 * only; nothing survives it. `now` is its clock.
 */
export function createMemoryGate({ now }: { readonly now: () => number }): Gate {
  const state = newMemoryState();
  return {
    enter: answering((request) => enter(state, request, now())),
    admit: answering((request) => admit(state, request, now())),
    settle: answering((request) => settle(state, request, now())),
    finish: answering((request) => finish(state, request, now())),
    joinRun: answering((request) => joinRun(state, request, now())),
    askProxy: answering((request) => askProxy(state, request, now())),
    settleProxy: answering((request) => settleProxy(state, request, now())),
    wake: answering((request) => wake(state, request, now())),
    ...hostVerbs(state, now),
    ...batchVerbs(state, now),
    inspectJob: answering((job) => {
      const entry = state.jobs.get(job);
      return entry === undefined ? undefined : snapshotJob(state, entry);
    }),
    listHosts: answering((cursor, limit) => {
      const known = [...state.hosts.values()].filter((host) => host.known).map(({ host }) => host);
      const page = after(known, cursor, limit);
      return { hosts: page, cursor: page.length < limit ? null : (page.at(-1) ?? null) };
    }),
    listLane: answering((host, offset, limit) => hostOf(state, host).lane.slice(offset, limit) as JobId[]),
    now: answering(now),
  };
}

/** A port method: a throw becomes a rejection, and nothing happens before the call. */
function answering<Args extends unknown[], Reply>(
  answer: (...args: Args) => Reply,
): (...args: Args) => Promise<Reply> {
  return async (...args) => answer(...args);
}

function after<Name extends string>(names: readonly Name[], cursor: string, limit: number): Name[] {
  return names
    .filter((name) => name > cursor)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .slice(0, limit);
}

const CALLS_MOST = 64;
type HostVerbs = Pick<Gate, 'hold' | 'resume' | 'resetCircuit' | 'setPaceOverride' | 'inspectHost'>;

function hostVerbs(state: MemoryState, now: () => number): HostVerbs {
  const known = (host: HostKey): HostEntry => {
    const entry = hostOf(state, host);
    if (!entry.known) throw new RangeError(`the gate knows no host ${host}`);
    return entry;
  };
  /** An owner may speak of a host before its first request. */
  const introduced = (host: HostKey): HostEntry => {
    const entry = hostOf(state, host);
    if (!entry.known) Object.assign(entry, { known: true, cap: 1 });
    return entry;
  };
  const snapshot = (entry: HostEntry): HostSnapshot => snapshotHost(state, entry, now());
  const reopened = (entry: HostEntry): CalledHost => {
    const call: JobId[] = [];
    callHost(state, entry, now(), { most: CALLS_MOST, again: true }, call);
    return { host: snapshot(entry), call };
  };
  return {
    hold: answering((host, reason, by) => {
      const entry = introduced(host);
      entry.hold ??= { reason, by, sinceMs: now() };
      state.wheel.delete(host);
      return snapshot(entry);
    }),
    resume: answering((host) => {
      const entry = known(host);
      if (entry.hold !== null) {
        entry.hold = null;
        entry.noHintEvents = 0;
        entry.pace = { ...entry.pace, reopening: 1, scoutUntilMs: 0 };
      }
      return reopened(entry);
    }),
    resetCircuit: answering((host) => {
      const entry = known(host);
      if (entry.circuit.state !== 'closed') entry.circuit = closeCircuit(entry.circuit);
      return reopened(entry);
    }),
    setPaceOverride: answering((host, override) => {
      const entry = introduced(host);
      if (override.kind === 'reset') {
        Object.assign(entry, { override: { kind: 'none' }, intervalMs: 0, pace: forgetPace(entry) });
      } else {
        entry.override = override;
      }
      return snapshot(entry);
    }),
    inspectHost: answering((host) => {
      const entry = state.hosts.get(host);
      return entry?.known === true ? snapshot(entry) : undefined;
    }),
  };
}

type BatchVerbs = Pick<
  Gate,
  'createBatch' | 'topUpBatch' | 'approveBatch' | 'cancelBatch' | 'inspectBatch' | 'listBatches'
>;

function batchVerbs(state: MemoryState, now: () => number): BatchVerbs {
  const change = (batch: BatchId, apply: (entry: BatchEntry) => void): BatchSnapshot => {
    const entry = state.batches.get(batch);
    if (entry === undefined) throw new RangeError(`the gate knows no batch ${batch}`);
    apply(entry);
    return snapshotBatch(entry);
  };
  return {
    createBatch: answering(({ batch, defaults }) => {
      const before = state.batches.get(batch);
      const entry = before ?? newBatch(batch, defaults, now());
      state.batches.set(batch, entry);
      return { kind: before === undefined ? 'created' : 'exists', batch: snapshotBatch(entry) };
    }),
    topUpBatch: answering((batch, tokens, nonce) => {
      if (!Number.isSafeInteger(tokens) || tokens < 0) {
        throw new RangeError(`a top-up is a whole number of tokens, at least 0, not ${tokens}`);
      }
      return change(batch, (entry) => {
        if (entry.topUps.has(nonce)) return;
        entry.topUps.add(nonce);
        entry.extraTokens += tokens;
      });
    }),
    approveBatch: answering((batch) => change(batch, (entry) => void (entry.approved = true))),
    cancelBatch: answering((batch) => change(batch, (entry) => void (entry.cancelled = true))),
    inspectBatch: answering((batch) => {
      const entry = state.batches.get(batch);
      return entry === undefined ? undefined : snapshotBatch(entry);
    }),
    listBatches: answering(() => after([...state.batches.keys()], '', Number.POSITIVE_INFINITY)),
  };
}
