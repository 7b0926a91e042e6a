import * as fc from 'fast-check';
import { OUTCOME_CLASSES, type OutcomeClass } from '../core/classify-outcome.ts';
import type { JobEffect } from '../core/plan-retry.ts';
import type { ProxyFailure } from '../core/proxy-circuit.ts';
import type { AdmitRequest, HostRules, PaceOverride } from '../gate/gate.ts';
import type { SettleProxyRequest } from '../gate/proxy-gate.ts';

/** One step of a random run. Jobs, hosts and batches are small numbers, so that steps meet each other. */
export type Operation =
  | { readonly kind: 'advance'; readonly ms: number }
  | {
      readonly kind: 'enter';
      readonly jobs: readonly number[];
      readonly host: number;
      readonly batch: number;
      readonly priority: number;
      readonly delayMs: number;
      readonly lifeMs: number;
    }
  | {
      readonly kind: 'admit';
      readonly job: number;
      readonly host: number;
      readonly delivery: number;
      readonly purpose: AdmitRequest['purpose'];
      readonly attemptsMax: number;
      readonly repeat: boolean;
    }
  | {
      readonly kind: 'settle';
      readonly pick: number;
      readonly outcome: OutcomeClass;
      readonly pauseMs: number;
      readonly noHint: boolean;
      readonly hold: boolean;
      readonly remaining: number;
      readonly effect: JobEffect['kind'];
      readonly waitMs: number;
      readonly inPlace: boolean;
      readonly uncounted: boolean;
      readonly latencyMs: number;
      readonly repeat: boolean;
      readonly oldDelivery: boolean;
    }
  | { readonly kind: 'finish'; readonly job: number; readonly delivery: number }
  /** told: the job's deliveries know of its new batch from now on. */
  | { readonly kind: 'join_run'; readonly job: number; readonly batch: number; readonly told: boolean }
  | { readonly kind: 'ask_proxy'; readonly job: number; readonly delivery: number; readonly repeat: boolean }
  | {
      readonly kind: 'settle_proxy';
      readonly pick: number;
      readonly result: SettleProxyRequest['result']['kind'];
      readonly failure: ProxyFailure;
      readonly pauseMs: number;
      readonly repeat: boolean;
    }
  | { readonly kind: 'wake'; readonly hostsMax: number; readonly jobsMax: number }
  | { readonly kind: 'hold' | 'resume' | 'reset'; readonly host: number }
  | { readonly kind: 'override'; readonly host: number; readonly override: PaceOverride }
  | {
      readonly kind: 'batch';
      readonly batch: number;
      readonly change: 'create' | 'top_up' | 'approve' | 'cancel';
    };

/** How many jobs a run knows. */
export const JOBS = 9;
const ms = fc.oneof(
  fc.integer({ min: 0, max: 400 }),
  fc.integer({ min: 0, max: 8000 }),
  fc.integer({ min: 0, max: 120_000 }),
);
const job = fc.integer({ min: 0, max: JOBS - 1 });
const host = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 2 }));
const batch = fc.integer({ min: 0, max: 2 });
const delivery = fc.oneof({ weight: 5, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 3 }));
const effect = fc.constantFrom<JobEffect['kind']>(
  ...(['done', 'done', 'stop', 'retry_at', 'retry_at', 'retry_at'] as const),
  ...(['defer', 'hold', 'continue', 'release'] as const),
);

const override = fc.oneof(
  fc.constantFrom<PaceOverride>({ kind: 'none' }, { kind: 'off' }, { kind: 'reset' }),
  fc.integer({ min: 1, max: 3000 }).map((intervalMs): PaceOverride => ({ kind: 'fixed', intervalMs })),
  fc.record({
    kind: fc.constant('bounds' as const),
    floorIntervalMs: fc.option(fc.integer({ min: 1, max: 9000 })),
    ceilingIntervalMs: fc.option(fc.integer({ min: 1, max: 900 })),
  }),
);

export const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('advance' as const), ms }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('enter' as const),
      jobs: fc.array(job, { minLength: 1, maxLength: 5 }),
      host,
      batch,
      priority: fc.constantFrom(0, 50, 50, 50, 100),
      delayMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, ms),
      lifeMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, ms),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('admit' as const),
      job,
      host,
      delivery,
      purpose: fc.constantFrom<AdmitRequest['purpose']>(
        'attempt',
        'attempt',
        'attempt',
        'attempt',
        'hop',
        'robots',
      ),
      attemptsMax: fc.constantFrom(0, 10, 3),
      repeat: fc.boolean(),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      pick: fc.nat({ max: 7 }),
      outcome: fc.oneof(
        fc.constantFrom<OutcomeClass>('served', 'throttled'),
        fc.constantFrom<OutcomeClass>(...OUTCOME_CLASSES),
      ),
      pauseMs: fc.oneof(fc.constant(0), ms),
      noHint: fc.boolean(),
      hold: fc.integer({ min: 0, max: 12 }).map((n) => n === 0),
      remaining: fc.integer({ min: -4, max: 3 }),
      effect,
      waitMs: ms,
      inPlace: fc.boolean(),
      uncounted: fc.integer({ min: 0, max: 2 }).map((n) => n === 0),
      latencyMs: fc.integer({ min: 0, max: 900 }),
      repeat: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
      oldDelivery: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('finish' as const), job, delivery }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('join_run' as const),
      job,
      batch,
      told: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('ask_proxy' as const), job, delivery, repeat: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle_proxy' as const),
      pick: fc.nat({ max: 4 }),
      result: fc.constantFrom<SettleProxyRequest['result']['kind']>('failed', 'failed', 'through', 'unused'),
      failure: fc.constantFrom<ProxyFailure>('credentials', 'proxy', 'destination'),
      pauseMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, ms),
      repeat: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('wake' as const),
      hostsMax: fc.integer({ min: 1, max: 3 }),
      jobsMax: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('hold' as const, 'resume' as const, 'reset' as const),
      host: fc.oneof({ weight: 3, arbitrary: host }, fc.constant(3)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('override' as const), host, override }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      batch,
      change: fc.constantFrom('create' as const, 'top_up' as const, 'approve' as const, 'cancel' as const),
    }),
  },
);

/** The policies that a random run goes by, one for each. */
export const rulesOfRun: fc.Arbitrary<HostRules> = fc.record({
  concurrency: fc.integer({ min: 1, max: 5 }),
  paceIntervalMs: fc.constantFrom(0, 0, 7, 100, 1500),
  learn: fc.option(
    fc.constant({
      startIntervalMs: 500,
      floorIntervalMs: 10_000,
      ceilingIntervalMs: 0,
      doubleAfterSuccesses: 3,
      doubleAfterMs: 500,
      decrease: 0.9,
      recoveryLeastMs: 2000,
      recoveryPauses: 20,
      recoveryMostMs: 60_000,
      keepMs: 604_800_000,
    }),
  ),
  circuit: fc.option(
    fc.record({
      responsesMax: fc.integer({ min: 1, max: 4 }),
      eventsMax: fc.integer({ min: 0, max: 3 }),
      openMs: fc.constantFrom(1000, 7000),
      growth: fc.constantFrom(1, 1.3, 2),
      openMostMs: fc.constant(60_000),
    }),
  ),
  ramp: fc.option(fc.constant({ durationMs: 10_000, startFraction: 0.25 })),
  hostTokens: fc.option(fc.constant({ perSuccess: 0.1, cap: 2, start: 1 })),
  attemptMs: fc.constantFrom(200, 3000, 30_000),
  headroomMs: fc.constantFrom(0, 500),
  leaseMarginMs: fc.constantFrom(0, 5000),
  inlineMaxMs: fc.constantFrom(0, 250),
});
