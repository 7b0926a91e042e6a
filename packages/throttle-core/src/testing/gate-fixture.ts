import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';
import type {
  AdmitReply,
  AdmitRequest,
  BatchDefaults,
  EnterReply,
  EnteringJob,
  Gate,
  HostRules,
  SettleReply,
  SettleRequest,
} from '../gate/gate.ts';
import type { ManualClock } from './manual-clock.ts';

/** Rules with everything that learns or ramps switched off; each test turns on what it is about. */
export const PLAIN_RULES: HostRules = {
  concurrency: 2,
  paceIntervalMs: 0,
  learn: null,
  circuit: null,
  ramp: null,
  hostTokens: null,
  attemptMs: 30_000,
  headroomMs: 500,
  leaseMarginMs: 5_000,
  inlineMaxMs: 250,
};

export const OPEN_BATCH: BatchDefaults = {
  tokens: { kind: 'off' },
  approved: true,
  owner: 'tests',
  deadlineMs: 0,
  spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
};

const NO_EFFECT: SettleRequest['hostEffect'] = {
  cooldownUntilMs: 0,
  noHint: false,
  hold: null,
  rateLimit: null,
};

export type Admitted = Extract<AdmitReply, { kind: 'admitted' }>;
export type Waiting = Extract<AdmitReply, { kind: 'wait' }>;

/** Speaks to a gate in the words of a test. Jobs are named by number: `j_00000007`. */
export class GateFixture {
  readonly gate: Gate;
  readonly clock: ManualClock;
  readonly host = 'site.example' as HostKey;
  readonly batch = 'nightly' as BatchId;
  #nonce = 0;

  constructor(gate: Gate, clock: ManualClock) {
    this.gate = gate;
    this.clock = clock;
  }

  job(number: number): JobId {
    return `j_${String(number).padStart(8, '0')}` as JobId;
  }

  nonce(): string {
    this.#nonce += 1;
    return `n${this.#nonce}`;
  }

  async enter(
    numbers: readonly number[],
    more: Partial<EnteringJob> & { readonly defaults?: BatchDefaults; readonly batch?: BatchId } = {},
  ): Promise<readonly EnterReply[]> {
    const { defaults, batch, ...job } = more;
    return this.gate.enter({
      batch: batch ?? this.batch,
      batchDefaults: defaults ?? OPEN_BATCH,
      jobs: numbers.map((number) => ({
        job: this.job(number),
        host: this.host,
        rules: PLAIN_RULES,
        priority: 50,
        notBeforeMs: 0,
        deadlineMs: 0,
        ...job,
      })),
    });
  }

  admitRequest(number: number, more: Partial<AdmitRequest> = {}): AdmitRequest {
    return {
      job: this.job(number),
      host: this.host,
      batch: this.batch,
      nonce: this.nonce(),
      delivery: 1,
      purpose: 'attempt',
      attemptsMax: 10,
      rules: PLAIN_RULES,
      ...more,
    };
  }

  admit(number: number, more: Partial<AdmitRequest> = {}): Promise<AdmitReply> {
    return this.gate.admit(this.admitRequest(number, more));
  }

  async admitted(number: number, more: Partial<AdmitRequest> = {}): Promise<Admitted> {
    const reply = await this.admit(number, more);
    if (reply.kind !== 'admitted') throw new Error(`expected an admission, got ${JSON.stringify(reply)}`);
    return reply;
  }

  async waits(number: number, more: Partial<AdmitRequest> = {}): Promise<Waiting> {
    const reply = await this.admit(number, more);
    if (reply.kind !== 'wait') throw new Error(`expected a wait, got ${JSON.stringify(reply)}`);
    return reply;
  }

  settleRequest(
    number: number,
    admission: Admitted,
    more: Partial<Omit<SettleRequest, 'hostEffect'>> & {
      readonly hostEffect?: Partial<SettleRequest['hostEffect']>;
    } = {},
  ): SettleRequest {
    return {
      job: this.job(number),
      host: this.host,
      batch: this.batch,
      leaseId: admission.leaseId,
      nonce: this.nonce(),
      delivery: 1,
      outcome: 'served',
      jobEffect: { kind: 'done' },
      rules: PLAIN_RULES,
      spent: { requests: 1, bytes: 1000, costMicros: 7 },
      latencyMs: 20,
      evidence: '200 OK',
      ...more,
      hostEffect: { ...NO_EFFECT, ...more.hostEffect },
    };
  }

  settle(
    number: number,
    admission: Admitted,
    more: Parameters<GateFixture['settleRequest']>[2] = {},
  ): Promise<SettleReply> {
    return this.gate.settle(this.settleRequest(number, admission, more));
  }

  /** The host said "come back in `pauseMs`". */
  throttle(
    number: number,
    admission: Admitted,
    pauseMs: number,
    more: Parameters<GateFixture['settleRequest']>[2] = {},
  ): Promise<SettleReply> {
    const untilMs = this.clock.now() + pauseMs;
    return this.settle(number, admission, {
      outcome: 'throttled',
      jobEffect: { kind: 'retry_at', notBeforeMs: untilMs, inPlace: false },
      evidence: '429 Too Many Requests',
      ...more,
      hostEffect: { cooldownUntilMs: untilMs, ...more.hostEffect },
    });
  }
}
