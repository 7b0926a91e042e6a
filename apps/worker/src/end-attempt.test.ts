import {
  type BatchId,
  type Gate,
  type HostKey,
  type Policy,
  PRESETS,
  type SettleReply,
  type SettleRequest,
} from '@holdoff/throttle-core';
import { GateUnavailable } from '@holdoff/throttle-core/redis';
import { OPEN_BATCH, sampleOutcome } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import { askGate } from './ask-gate.ts';
import type { Target, WorkerParts } from './attempt.ts';
import { type Answered, answerOf } from './decide-step.ts';
import { DeliveryFault, deliverResult, type Sink } from './deliver-result.ts';
import { endAttempt, endUnsent } from './end-attempt.ts';
import type { PageExchange } from './fetch-page.ts';
import { REDELIVERY_WAITS_MS } from './hand-over.ts';
import {
  sampleAttempt,
  sampleExchange,
  SAMPLE_JOB,
  sampleTarget,
  type SampleWorld,
  sampleWorld,
} from './testing/sample-attempt.ts';

const throttled = {
  outcome: sampleOutcome('throttled'),
  status: 429,
  headers: { 'retry-after': ['20'] },
  body: new Uint8Array(0),
};

const HOST = 'site.example' as HostKey;
let gateOf: Gate;

interface Change {
  readonly exchange?: Partial<PageExchange>;
  readonly parts?: Partial<WorkerParts>;
  readonly target?: Partial<Target>;
  readonly policy?: Partial<Policy>;
  readonly signal?: AbortSignal;
  /** Shown the world before anything happens in it. */
  readonly watch?: (world: SampleWorld) => void;
  readonly read?: (answered: Answered) => Promise<Answered>;
  /** What the gate answers to a settlement; absent: what it does. */
  readonly settle?: (real: () => Promise<SettleReply>, tries: number) => Promise<SettleReply>;
}

/** Admits an attempt, and ends it with one exchange. */
async function end({ exchange = {}, parts = {}, settle = (real) => real(), ...change }: Change) {
  const policy = { ...PRESETS.balanced, ...change.policy };
  const world = sampleWorld(undefined, parts, policy);
  change.watch?.(world);
  const settled: SettleRequest[] = [];
  const gate = {
    ...world.gate,
    settle: (request: SettleRequest) => {
      settled.push(request);
      return settle(() => world.gate.settle(request), settled.length);
    },
  };
  const signal = change.signal === undefined ? {} : { signal: change.signal };
  const attempt = sampleAttempt({ ...world.parts, gate }, signal);
  const { scope } = sampleTarget();
  const asked = sampleTarget({ scope: { ...scope, policy }, ...change.target });
  const admitted = await askGate(attempt, asked, 'attempt');
  if (admitted.kind !== 'admitted') throw new Error(`not admitted: ${admitted.kind}`);
  const answered = answerOf(attempt, asked, admitted, sampleExchange(exchange));
  const read = change.read ?? (async (given: Answered) => given);
  const said = await endAttempt(attempt, answered, () => read(answered)).catch((error: unknown) => error);
  return { said, settled, ...world, answered };
}

test('a throttled job goes back with the instant that the gate wrote', async () => {
  const { said, gate, answered, seen } = await end({ exchange: throttled });
  expect(said).toEqual({ kind: 'delay', untilMs: answered.step.plan.notBeforeMs, data: null });
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toBeNull();
  expect(seen.delivered).toEqual([]);
});

test('a job that failed at a redirect target goes on there, and is counted there', async () => {
  const target = { url: 'https://other.example/end', hops: 1 };
  const { said } = await end({ exchange: throttled, target });
  expect(said).toMatchObject({
    kind: 'delay',
    data: { hop: { url: target.url, count: 1, asked: true } },
  });
});

const full = new DeliveryFault('folder', Object.assign(new Error('full'), { code: 'ENOSPC' }));

test('a result that is not taken is kept and handed over again, its slot free meanwhile, and costs nothing', async () => {
  let tries = 0;
  const slots: number[] = [];
  const { said, gate, settled, seen } = await end({
    parts: {
      deliver: async () => {
        slots.push((await gateOf.inspectHost(HOST))?.leases.length ?? -1);
        tries += 1;
        if (tries < 4) throw full;
      },
    },
    watch: (world) => (gateOf = world.gate),
  });
  expect(said).toEqual({ kind: 'complete', end: { kind: 'done' } });
  expect(settled.map(({ jobEffect }) => jobEffect)).toEqual([{ kind: 'continue', uncounted: true }]);
  expect(slots).toEqual([1, 0, 0, 0]);
  expect(seen.slept).toEqual([500, 1_000, 2_000]);
  expect(await gate.inspectJob(SAMPLE_JOB)).toMatchObject({
    ended: { kind: 'done' },
    facts: { attempts: 1 },
  });
  expect(await gate.inspectBatch('nightly' as BatchId)).toMatchObject({ attempts: 1, jobs: { done: 1 } });
});

test('a place that never takes it gives the job back after a while, and the page is fetched again for nothing', async () => {
  const { said, gate, parts, seen, clock } = await end({ parts: { deliver: () => Promise.reject(full) } });
  expect(said).toEqual({ kind: 'delay', untilMs: clock.now() + 5_000, data: null });
  expect(seen.slept).toEqual([...REDELIVERY_WAITS_MS]);
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toBeNull();
  expect((await gate.inspectHost(HOST))?.circuit).toMatchObject({ state: 'closed', consecutiveResponses: 0 });
  clock.advance(5_000);
  const again = await askGate(sampleAttempt(parts, { number: 2 }), sampleTarget(), 'attempt');
  expect(again).toMatchObject({ kind: 'admitted', attempt: 1 });
});

test('what one place has taken is not given to it again while another is away', async () => {
  const given: string[] = [];
  let tries = 0;
  const sink = (name: string, deliver: () => Promise<void>): Sink => ({
    name,
    deliver: async () => {
      given.push(name);
      await deliver();
    },
    probe: async () => undefined,
    close: async () => undefined,
  });
  const sinks = [
    sink('folder', async () => undefined),
    sink('webhook', async () => {
      tries += 1;
      if (tries < 3) throw full;
    }),
  ];
  await end({
    parts: { deliver: (ended, page, taken, again) => deliverResult(sinks, ended, page, taken, again) },
  });
  expect(given).toEqual(['folder', 'webhook', 'webhook', 'webhook']);
});

test('work that is cut keeps no result waiting', async () => {
  const stop = new AbortController();
  const { said, seen } = await end({
    parts: {
      deliver: () => {
        stop.abort();
        return Promise.reject(full);
      },
    },
    signal: stop.signal,
  });
  expect(said).toMatchObject({ kind: 'delay' });
  expect(seen.slept).toHaveLength(1);
});

test.each<{ what: string; exchange: Partial<PageExchange>; policy?: Partial<Policy>; cooled: boolean }>([
  {
    what: 'a throttled answer that ends its job',
    exchange: throttled,
    policy: { deadline: { jobMs: null, attemptMs: 30_000, headroomMs: 500, required: true } },
    cooled: true,
  },
  {
    what: 'a page that says it was the last one',
    exchange: { headers: { ratelimit: ['"a";r=0;t=60'] } },
    cooled: false,
  },
])(
  '$what teaches the fleet before any place that takes results is asked',
  async ({ exchange, policy, cooled }) => {
    const order: string[] = [];
    let at = 0;
    const world = await end({
      exchange,
      ...(policy === undefined ? {} : { policy }),
      parts: {
        deliver: async (ended) => {
          order.push(`deliver ${ended.outcome}`);
          at = (await gateOf.inspectHost(HOST))?.cooldownUntilMs ?? 0;
        },
        recordStopped: async () => void order.push('record'),
      },
      watch: ({ gate }) => (gateOf = gate),
      settle: async (real) => {
        order.push('settle');
        return real();
      },
      read: async (answered) => {
        order.push('read');
        return answered;
      },
    });
    expect(order.slice(0, 2)).toEqual(['settle', 'read']);
    expect(order[2]).toMatch(/^deliver/);
    expect(at > world.clock.now()).toBe(cooled);
    expect(world.said).toMatchObject({ kind: 'complete' });
    expect((await world.gate.inspectHost(HOST))?.leases).toEqual([]);
    expect(await world.gate.inspectBatch('nightly' as BatchId)).toMatchObject({ attempts: 1, requests: 1 });
  },
);

test('a page that teaches nothing is settled once, after it was handed over', async () => {
  const order: string[] = [];
  await end({
    parts: { deliver: async () => void order.push('deliver') },
    settle: async (real) => {
      order.push('settle');
      return real();
    },
  });
  expect(order).toEqual(['deliver', 'settle']);
});

test('a settlement is repeated with its nonce for as long as the wait that it teaches', async () => {
  const exchange = { ...throttled, headers: { 'retry-after': ['600'] } };
  const awayMs = 500_000;
  const { said, settled, seen } = await end({
    exchange,
    settle: (real, tries) =>
      tries * 500 > awayMs ? real() : Promise.reject(new GateUnavailable('settle', undefined)),
  });
  expect(said).toMatchObject({ kind: 'delay' });
  expect(seen.slept.reduce((sum, ms) => sum + ms, 0)).toBe(awayMs);
  expect(new Set(settled.map(({ nonce }) => nonce)).size).toBe(1);
});

test('a settlement without a wait is given up in the end', async () => {
  const away = () => Promise.reject(new GateUnavailable('settle', undefined));
  const { said, settled } = await end({ settle: away });
  expect(said).toBeInstanceOf(GateUnavailable);
  expect(settled).toHaveLength(40);
});

test.each<{ what: string; job: SettleReply['job']; said: object }>([
  { what: 'without an instant is another delivery to go on with', job: null, said: { kind: 'abandon' } },
  {
    what: 'whose job waits goes back with its instant',
    job: { dueMs: 7_000, cause: 'not_before' },
    said: { kind: 'delay', untilMs: 7_000, data: null },
  },
])('a late result $what', async ({ job, said }) => {
  const settle: Change['settle'] = async (real) => ({ ...(await real()), kind: 'late', job });
  expect((await end({ exchange: throttled, settle })).said).toEqual(said);
});

test('a refused job is recorded before it is ended, and its end is the first that the gate knows', async () => {
  const { parts, gate, seen } = sampleWorld();
  const entering = { job: SAMPLE_JOB, host: HOST, rules: { concurrency: 2 }, priority: 50 };
  const jobs = [{ ...entering, notBeforeMs: 0, deadlineMs: 0 }];
  await gate.enter({ batch: 'nightly' as BatchId, batchDefaults: OPEN_BATCH, jobs });
  const first = await endUnsent(sampleAttempt(parts), 'https://site.example/page', 'robots', 'disallowed');
  const second = await endUnsent(sampleAttempt(parts), 'https://site.example/page', 'deadline', 'late');
  const ended = { kind: 'stopped', reason: 'robots' };
  expect([first, second]).toEqual([
    { kind: 'complete', end: ended },
    { kind: 'complete', end: ended },
  ]);
  expect((await gate.inspectJob(SAMPLE_JOB))?.ended).toEqual(ended);
  expect(new Set(seen.delivered.map(({ key }) => key)).size).toBe(1);
});
