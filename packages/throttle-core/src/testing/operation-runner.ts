import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';
import type { JobEffect } from '../core/plan-retry.ts';
import { proxyScope } from '../core/proxy-circuit.ts';
import type { AdmitReply, BatchDefaults, Gate, HostRules } from '../gate/gate.ts';
import type { AskProxyReply } from '../gate/proxy-gate.ts';
import { OPEN_BATCH } from './gate-fixture.ts';
import { JOBS, type Operation } from './random-operations.ts';

const DEFAULTS: readonly BatchDefaults[] = [
  OPEN_BATCH,
  { ...OPEN_BATCH, tokens: { kind: 'share', share: 0.07, least: 2 } },
  {
    ...OPEN_BATCH,
    tokens: { kind: 'fixed', total: 2 },
    approved: false,
    spend: { bytesMax: 5000, requestsMax: 6, costMicrosMax: 0 },
  },
];

const PROXY = proxyScope('p1');
/** The last one is a proxy: owners speak of it like of any host. */
const RUN_HOSTS = ['one.example', 'two.example', 'Grüße {x}', PROXY] as HostKey[];
const RUN_BATCHES = ['plain', 'share', 'fixed'] as BatchId[];
const RUN_JOBS = Array.from({ length: JOBS }, (_, number) => `j_0000000${number}` as JobId);

interface Admission {
  readonly reply: Extract<AdmitReply, { kind: 'admitted' }>;
  readonly job: number;
  readonly host: number;
  readonly delivery: number;
}

/** Runs operations on one gate. It remembers admissions and nonces by what that gate answered. */
export class OperationRunner {
  readonly #gate: Gate;
  readonly #rules: HostRules;
  readonly #now: () => number;
  readonly #batchOf = new Map<number, number>();
  readonly #admissions: Admission[] = [];
  readonly #nonceOf = new Map<number, string>();
  readonly #passes: Extract<AskProxyReply, { kind: 'go' }>[] = [];
  #lastProxy: Parameters<Gate['settleProxy']>[0] | undefined;
  #lastSettle: Parameters<Gate['settle']>[0] | undefined;
  #count = 0;

  constructor(gate: Gate, rules: HostRules, now: () => number) {
    this.#gate = gate;
    this.#rules = rules;
    this.#now = now;
  }

  async run(step: Exclude<Operation, { kind: 'advance' }>): Promise<unknown> {
    this.#count += 1;
    switch (step.kind) {
      case 'enter':
        return this.#enter(step);
      case 'admit':
        return this.#admit(step);
      case 'settle':
        return this.#settle(step);
      case 'finish':
        return this.#gate.finish({
          job: jobId(step.job),
          batch: this.#batch(step.job),
          delivery: step.delivery,
          end: { kind: 'stopped', reason: 'cancelled' },
          evidence: 'x'.repeat((this.#count * 17) % 90),
        });
      case 'join_run':
        return this.#joinRun(step);
      case 'ask_proxy':
        return this.#askProxy(step);
      case 'settle_proxy':
        return this.#settleProxy(step);
      case 'wake':
        return this.#gate.wake(step);
      case 'hold':
        return this.#gate.hold(hostKey(step.host), 'because', 'owner');
      case 'resume':
        return orRefusal(this.#gate.resume(hostKey(step.host)));
      case 'reset':
        return orRefusal(this.#gate.resetCircuit(hostKey(step.host)));
      case 'override':
        return this.#gate.setPaceOverride(hostKey(step.host), step.override);
      case 'batch':
        return this.#changeBatch(step.batch, step.change);
      default:
        return step satisfies never;
    }
  }

  async #enter(step: Extract<Operation, { kind: 'enter' }>): Promise<unknown> {
    for (const number of step.jobs) if (!this.#batchOf.has(number)) this.#batchOf.set(number, step.batch);
    return this.#gate.enter({
      batch: batchId(step.batch),
      batchDefaults: defaultsOf(step.batch),
      jobs: [...new Set(step.jobs)].map((number) => ({
        job: jobId(number),
        host: hostKey(step.host),
        rules: this.#rules,
        priority: step.priority,
        notBeforeMs: step.delayMs === 0 ? 0 : this.#now() + step.delayMs,
        deadlineMs: step.lifeMs === 0 ? 0 : this.#now() + step.lifeMs,
      })),
    });
  }

  async #admit(step: Extract<Operation, { kind: 'admit' }>): Promise<unknown> {
    const nonce = (step.repeat ? this.#nonceOf.get(step.job) : undefined) ?? `a${this.#count}`;
    this.#nonceOf.set(step.job, nonce);
    const reply = await this.#gate.admit({
      job: jobId(step.job),
      host: hostKey(step.host),
      batch: this.#batch(step.job),
      nonce,
      delivery: step.delivery,
      purpose: step.purpose,
      attemptsMax: step.attemptsMax,
      rules: this.#rules,
    });
    if (reply.kind === 'admitted') {
      this.#admissions.unshift({ reply, job: step.job, host: step.host, delivery: step.delivery });
    }
    return reply;
  }

  async #settle(step: Extract<Operation, { kind: 'settle' }>): Promise<unknown> {
    if (step.repeat && this.#lastSettle !== undefined) return this.#gate.settle(this.#lastSettle);
    const admission = this.#admissions[step.pick % Math.max(1, this.#admissions.length)];
    if (admission === undefined) return 'nothing admitted';
    const untilMs = step.pauseMs === 0 ? 0 : this.#now() + step.pauseMs;
    this.#lastSettle = {
      job: jobId(admission.job),
      host: hostKey(admission.host),
      batch: this.#batch(admission.job),
      leaseId: admission.reply.leaseId,
      nonce: `s${this.#count}`,
      delivery: step.oldDelivery ? 0 : admission.delivery,
      outcome: step.outcome,
      hostEffect: {
        cooldownUntilMs: untilMs,
        noHint: step.noHint,
        hold: step.hold ? { reason: 'too long' } : null,
        rateLimit:
          step.remaining < 0
            ? null
            : { remaining: step.remaining, windowMs: 1000, untilMs: this.#now() + step.waitMs },
      },
      jobEffect: effectOf(step, this.#now() + step.waitMs),
      rules: this.#rules,
      spent: { requests: 1, bytes: 700, costMicros: 3 },
      latencyMs: step.latencyMs,
      evidence: '429 after a while; '.repeat(step.latencyMs % 6),
    };
    return this.#gate.settle(this.#lastSettle);
  }

  async #joinRun(step: Extract<Operation, { kind: 'join_run' }>): Promise<unknown> {
    const to = batchId(step.batch);
    const reply = await this.#gate.joinRun({ job: jobId(step.job), from: this.#batch(step.job), to });
    if (reply === 'joined' && step.told) this.#batchOf.set(step.job, step.batch);
    return reply;
  }

  async #askProxy(step: Extract<Operation, { kind: 'ask_proxy' }>): Promise<unknown> {
    const nonce = (step.repeat ? this.#nonceOf.get(step.job) : undefined) ?? `p${this.#count}`;
    this.#nonceOf.set(step.job, nonce);
    const reply = await this.#gate.askProxy({
      job: jobId(step.job),
      proxy: PROXY,
      nonce,
      delivery: step.delivery,
      probeMs: this.#rules.attemptMs,
      neededMs: this.#rules.attemptMs + this.#rules.headroomMs,
    });
    if (reply.kind === 'go') this.#passes.unshift(reply);
    return reply;
  }

  async #settleProxy(step: Extract<Operation, { kind: 'settle_proxy' }>): Promise<unknown> {
    if (step.repeat && this.#lastProxy !== undefined) return this.#gate.settleProxy(this.#lastProxy);
    const pass = this.#passes[step.pick % Math.max(1, this.#passes.length)];
    if (pass === undefined) return 'nothing passed';
    const cooldownUntilMs = step.pauseMs === 0 ? 0 : this.#now() + step.pauseMs;
    const why = `failed ${this.#count % 3}`;
    this.#lastProxy = {
      proxy: PROXY,
      nonce: `q${this.#count}`,
      probe: pass.probe,
      generation: pass.generation,
      result:
        step.result === 'failed'
          ? { kind: step.result, failure: step.failure, cooldownUntilMs, why }
          : { kind: step.result },
    };
    return this.#gate.settleProxy(this.#lastProxy);
  }

  async #changeBatch(number: number, change: 'create' | 'top_up' | 'approve' | 'cancel'): Promise<unknown> {
    const batch = batchId(number);
    if (change === 'create') return this.#gate.createBatch({ batch, defaults: defaultsOf(number) });
    if (change === 'top_up') return orRefusal(this.#gate.topUpBatch(batch, 1, `t${this.#count % 7}`));
    if (change === 'approve') return orRefusal(this.#gate.approveBatch(batch, 'owner'));
    return orRefusal(this.#gate.cancelBatch(batch, 'owner'));
  }

  #batch(number: number): BatchId {
    return batchId(this.#batchOf.get(number) ?? 0);
  }
}

/** Everything that can be seen of a gate. */
export async function observe(gate: Gate): Promise<unknown> {
  return {
    hosts: await Promise.all(RUN_HOSTS.map((each) => gate.inspectHost(each))),
    lanes: await Promise.all(RUN_HOSTS.map((each) => gate.listLane(each, 0, 100))),
    jobs: await Promise.all(RUN_JOBS.map((each) => gate.inspectJob(each))),
    batches: await Promise.all(RUN_BATCHES.map((each) => gate.inspectBatch(each))),
    batchNames: await gate.listBatches(),
  };
}

function effectOf(step: Extract<Operation, { kind: 'settle' }>, notBeforeMs: number): JobEffect {
  switch (step.effect) {
    case 'retry_at':
      return { kind: step.effect, notBeforeMs, inPlace: step.inPlace, uncounted: step.uncounted };
    case 'defer':
      return { kind: step.effect, notBeforeMs };
    case 'stop':
      return { kind: step.effect, reason: 'attempts' };
    case 'continue':
      return { kind: step.effect, uncounted: step.uncounted };
    case 'done':
    case 'hold':
    case 'release':
      return { kind: step.effect };
    default:
      return step.effect satisfies never;
  }
}

async function orRefusal(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return error instanceof RangeError ? `refused: ${error.message}` : Promise.reject(error);
  }
}

function jobId(number: number): JobId {
  return RUN_JOBS[number] ?? ('j_none' as JobId);
}

function hostKey(number: number): HostKey {
  return RUN_HOSTS[number] ?? ('none.example' as HostKey);
}

function batchId(number: number): BatchId {
  return RUN_BATCHES[number] ?? ('none' as BatchId);
}

function defaultsOf(number: number): BatchDefaults {
  return DEFAULTS[number] ?? OPEN_BATCH;
}
