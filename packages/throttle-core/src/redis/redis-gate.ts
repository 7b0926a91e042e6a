import type { Cluster, Redis } from 'ioredis';
import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';
import type { BatchSnapshot, Gate, HostSnapshot } from '../gate/gate.ts';
import { asGateError } from './gate-unavailable.ts';
import { hostOfPart, hostPart, keyNames } from './key-names.ts';
import type { ScriptContext } from './script-context.ts';
import { scriptRunner } from './script-runner.ts';
import { admit } from './scripts/admit.ts';
import { askProxy } from './scripts/ask-proxy.ts';
import { type BatchChange, changeBatch } from './scripts/change-batch.ts';
import { createBatch } from './scripts/create-batch.ts';
import { enter } from './scripts/enter.ts';
import { finish } from './scripts/finish.ts';
import { holdHost } from './scripts/hold-host.ts';
import { inspectBatch } from './scripts/inspect-batch.ts';
import { inspectHost } from './scripts/inspect-host.ts';
import { inspectJob } from './scripts/inspect-job.ts';
import { joinRun } from './scripts/join-run.ts';
import { type NamePage, listNames } from './scripts/list-names.ts';
import { paceOverride } from './scripts/pace-override.ts';
import { reopenHost } from './scripts/reopen-host.ts';
import { settle } from './scripts/settle.ts';
import { settleProxy } from './scripts/settle-proxy.ts';
import { wake } from './scripts/wake.ts';

export interface RedisGateOptions {
  readonly redis: Redis | Cluster;
  /** The deployment's name; all its keys carry it as hash tag. Default: holdoff. */
  readonly deployment?: string;
  /** How long the ledger of an ended job is kept. Default: 7 days. */
  readonly endedKeepMs?: number;
  /** For tests: the time that scripts take instead of Redis' own. */
  readonly clock?: () => number;
}

const SEVEN_DAYS_MS = 604_800_000;

/** The gate on Redis or Valkey. Rejects with `GateUnavailable` while the server does not answer. */
export function createRedisGate(options: RedisGateOptions): Gate {
  const { redis, clock } = options;
  const names = keyNames(options.deployment ?? 'holdoff');
  const context: ScriptContext = {
    run: scriptRunner(redis),
    names,
    time: clock === undefined ? () => '' : () => String(clock()),
    endedKeepMs: options.endedKeepMs ?? SEVEN_DAYS_MS,
  };
  return {
    enter: (request) => enter(context, request),
    admit: (request) => admit(context, request),
    settle: (request) => settle(context, request),
    finish: (request) => finish(context, request),
    joinRun: (request) => joinRun(context, request),
    askProxy: (request) => askProxy(context, request),
    settleProxy: (request) => settleProxy(context, request),
    wake: (request) => wake(context, request),
    ...hostVerbs(context),
    ...batchVerbs(context),
    inspectJob: (job) => inspectJob(context, job),
    now: () => asking('time', async () => (clock === undefined ? redisTime(redis) : clock())),
    listBatches: () => listBatches(context),
    listHosts: async (cursor, limit) => {
      const page = await listNames(context, 'host', cursor, limit);
      return { hosts: page.names.map(hostOfPart), cursor: page.cursor };
    },
    listLane: (host, offset, limit) =>
      asking('zrange', async () => {
        if (limit <= 0) return [];
        return (await redis.zrange(
          names.lane(hostPart(host)),
          String(offset),
          String(offset + limit - 1),
        )) as JobId[];
      }),
  };
}

type HostVerbs = Pick<Gate, 'hold' | 'resume' | 'resetCircuit' | 'setPaceOverride' | 'inspectHost'>;

function hostVerbs(context: ScriptContext): HostVerbs {
  const known = async (host: HostKey): Promise<HostSnapshot> => {
    const snapshot = await inspectHost(context, host);
    if (snapshot === undefined) throw new RangeError(`the gate knows no host ${host}`);
    return snapshot;
  };
  return {
    async hold(host, reason, by) {
      await holdHost(context, host, reason, by);
      return known(host);
    },
    async resume(host) {
      const call = await reopenHost(context, host, 'resume');
      return { host: await known(host), call };
    },
    async resetCircuit(host) {
      const call = await reopenHost(context, host, 'reset');
      return { host: await known(host), call };
    },
    async setPaceOverride(host, override) {
      await paceOverride(context, host, override);
      return known(host);
    },
    inspectHost: (host) => inspectHost(context, host),
  };
}

type BatchVerbs = Pick<Gate, 'createBatch' | 'topUpBatch' | 'approveBatch' | 'cancelBatch' | 'inspectBatch'>;

function batchVerbs(context: ScriptContext): BatchVerbs {
  const known = async (batch: BatchId): Promise<BatchSnapshot> => {
    const snapshot = await inspectBatch(context, batch);
    if (snapshot === undefined) throw new RangeError(`the gate knows no batch ${batch}`);
    return snapshot;
  };
  const change = async (batch: BatchId, what: BatchChange): Promise<BatchSnapshot> => {
    await changeBatch(context, batch, what);
    return known(batch);
  };
  return {
    async createBatch(request) {
      const kind = await createBatch(context, request);
      return { kind, batch: await known(request.batch) };
    },
    topUpBatch: (batch, tokens, nonce) => change(batch, { kind: 'top_up', tokens, nonce }),
    approveBatch: (batch, by) => change(batch, { kind: 'approve', by }),
    cancelBatch: (batch, by) => change(batch, { kind: 'cancel', by }),
    inspectBatch: (batch) => inspectBatch(context, batch),
  };
}

async function asking<T>(command: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw asGateError(command, error);
  }
}

async function redisTime(redis: Redis | Cluster): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
}

async function listBatches(context: ScriptContext): Promise<readonly BatchId[]> {
  const batches: BatchId[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: NamePage = await listNames(context, 'batch', cursor, 1000);
    batches.push(...(page.names as BatchId[]));
    cursor = page.cursor;
  }
  return batches;
}
